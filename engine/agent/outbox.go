package agent

import (
	"sync"
	"time"

	"deployer/engine"
	"deployer/engine/protocol"
	"deployer/engine/protocol/codec"
)

// outboxSize is the maximum number of bytes of results that wait before they are sent. The
// controller holds a buffer for the largest packet of each of its thousand
// connections.
const outboxSize = 8 << 10

// outbox batches the results of steps that end within startDelay, so that many
// travel in one frame. outbox sends a batch when the next step takes longer or reports
// something, and at the latest when the segment ends. Results that an agent dies
// with are in the host's journal.
type outbox struct {
	conn    *protocol.Conn
	segment uint32

	mu      sync.Mutex
	results []byte // encoded
	since   time.Time
}

// add adds a result, and sends the batch when it is large or old enough.
func (o *outbox) add(r *engine.Result) (err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.results) == 0 {
		o.since = r.Started
	}
	if o.results, err = codec.AppendResult(o.results, r); err != nil {
		return err
	}
	if len(o.results) < outboxSize && time.Since(o.since) < startDelay {
		return nil
	}
	return o.sendLocked()
}

// flush sends the batch.
func (o *outbox) flush() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.sendLocked()
}

// sendLocked sends the batch. o.mu is held.
func (o *outbox) sendLocked() error {
	if len(o.results) == 0 {
		return nil
	}
	err := o.conn.Send(protocol.Result, o.segment, o.results)
	o.results = o.results[:0]
	return err
}
