package agenttest

import (
	"slices"
	"sync"

	"deployer/engine"
)

// Events records what a session emits.
type Events struct {
	mu   sync.Mutex
	list []engine.Event
	// Seen also gets each event when it is not nil.
	Seen chan engine.Event
}

// Emit implements engine.Sink.
func (e *Events) Emit(ev engine.Event) {
	e.mu.Lock()
	e.list = append(e.list, ev)
	e.mu.Unlock()
	if e.Seen != nil {
		e.Seen <- ev
	}
}

// Of returns the events of some types, in order.
func (e *Events) Of(kinds ...engine.EventType) []engine.Event {
	e.mu.Lock()
	defer e.mu.Unlock()
	var out []engine.Event
	for _, ev := range e.list {
		if slices.Contains(kinds, ev.Type) {
			out = append(out, ev)
		}
	}
	return out
}
