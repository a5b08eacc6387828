package agent

import (
	"sync"
	"time"

	"deployer/engine"
	"deployer/engine/codec"
	"deployer/engine/wire"
)

// outboxSize is how many bytes of results wait at most to be sent. The controller
// keeps a buffer for the largest packet of each of its thousand connections.
const outboxSize = 8 << 10

// outbox gathers the results of steps that are over at once, so that many of them
// travel in one frame. None waits longer than about startDelay: it is sent when
// the next step takes that long or has something to say, and at the latest when
// the segment ends. What an agent that dies has not sent is in the host's journal.
type outbox struct {
	conn      *wire.Conn
	segment   uint32
	unbatched bool

	mu      sync.Mutex
	results []byte // packed
	since   time.Time
}

// add takes in a result, and sends all that is there if it is enough.
func (o *outbox) add(r *engine.Result) (err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.results) == 0 {
		o.since = r.Started
	}
	if o.results, err = codec.AppendResult(o.results, r); err != nil {
		return err
	}
	if !o.unbatched && len(o.results) < outboxSize && time.Since(o.since) < startDelay {
		return nil
	}
	return o.sendLocked()
}

// flush sends what is there.
func (o *outbox) flush() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.sendLocked()
}

func (o *outbox) sendLocked() error {
	if len(o.results) == 0 {
		return nil
	}
	err := o.conn.Send(wire.Result, o.segment, o.results)
	o.results = o.results[:0]
	return err
}
