// Package view shows a run: the one stream of events in, text out. It is the
// only package of the engine that prints.
//
// There are three renderers of the same events: Lines for pipes and logs, Live
// for terminals, and JSON for programs (JSON Lines of engine.Event). The first
// two end with the same Summary.
package view

import (
	"deployer/engine"
)

// Options say how much to show.
type Options struct {
	// Verbose is the number of -v: 0 shows changes and failures, 1 adds diffs
	// and unchanged steps, 2 adds skipped steps and waits.
	Verbose int
	// Diff shows the effects of changes, with diffs of files.
	Diff bool
	// Check is true when the run changes nothing and only finds what differs.
	Check bool
	// Hosts are the hosts of the run in inventory order.
	Hosts []string
}

// Renderer receives the events of a run. Close ends the display and must be
// called before anything else is printed to the same place.
type Renderer interface {
	engine.Sink
	Close()
}

// Tee sends every event to all sinks, in order.
func Tee(sinks ...engine.Sink) engine.Sink { return tee(sinks) }

type tee []engine.Sink

func (t tee) Emit(e engine.Event) {
	for _, s := range t {
		s.Emit(e)
	}
}
