package schedule

import (
	"context"
	"sync"

	"deployer/engine"
)

// resultReader passes the results of a running session on, and none after close.
type resultReader struct {
	mu       sync.Mutex
	dispatch *dispatch
	closed   bool
	stop     func()          // may be nil
	ending   context.Context // done when stop is due
}

func (in *resultReader) receive(res engine.Result) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.closed {
		return
	}
	in.dispatch.receive(res)
	// The run may have been stopped at the moment when the segment was sent, before
	// the session knew the segment.
	if in.stop != nil && in.ending.Err() != nil {
		in.stop()
	}
}

// interrupt stops the segment, unless it has ended: the next segment of the host,
// that of post_tasks, must not be stopped.
func (in *resultReader) interrupt() {
	in.mu.Lock()
	defer in.mu.Unlock()
	if !in.closed {
		in.stop()
	}
}

func (in *resultReader) close() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.closed = true
}
