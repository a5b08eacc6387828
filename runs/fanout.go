package runs

import (
	"slices"
	"sync"

	"deployer/engine"
)

// fanout sends each event to all sinks added so far.
type fanout struct {
	mu    sync.Mutex
	sinks []engine.Sink
}

// add sends all later events to s; nil is ignored.
func (r *fanout) add(s engine.Sink) {
	if s == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sinks = append(slices.Clip(r.sinks), s)
}

// Emit implements engine.Sink.
func (r *fanout) Emit(e engine.Event) {
	r.mu.Lock()
	sinks := r.sinks
	r.mu.Unlock()
	for _, s := range sinks {
		s.Emit(e)
	}
}
