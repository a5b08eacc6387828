// Package view shows a run: events in, text out. It is the only package of the
// engine that prints.
//
// Three renderers take the same events: [Lines] for pipes and logs, [Live] for
// terminals, and [JSON] for programs (JSON Lines of engine.Event). After the first
// two, callers print [Summary]. Lines and Live each start a goroutine, which Close
// ends.
package view

import (
	"deployer/engine"
)

// Options control how much is shown.
type Options struct {
	// Verbose is the number of -v: 0 shows changes and failures, 1 adds diffs
	// and unchanged steps, 2 adds skipped steps and waits.
	Verbose int
	// Diff shows the effects of changes, with diffs of files.
	Diff bool
	// Check is true for a dry run.
	Check bool
	// Hosts are the hosts of the run in inventory order.
	Hosts []string
}

// Renderer shows the events of a run. Close ends the display; it must be called
// before anything else is printed to the same place.
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
