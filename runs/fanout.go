package runs

import (
	"slices"
	"sync"

	"deployer/engine"
)

// fanout passes events on to those that have been added until then.
type fanout struct {
	mu    sync.Mutex
	sinks []engine.Sink
}

// add makes sure that s gets all events from now on; nil is nobody.
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
