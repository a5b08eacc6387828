package main

import (
	"io"
	"os"

	"golang.org/x/term"

	"deployer/engine"
	"deployer/engine/view"
)

// display opens the renderer of a run. The renderer is opened just before the first connection;
// until then prompts use the terminal.
type display struct {
	open func() view.Renderer
	json bool // the renderer prints events as JSON
}

// display returns the display of the flags.
func (o runOptions) display(w io.Writer, hosts []string) display {
	return display{func() view.Renderer { return o.renderer(w, hosts) }, o.output == "json"}
}

func (o runOptions) renderer(w io.Writer, hosts []string) view.Renderer {
	switch {
	case o.output == "json":
		return view.JSON(w)
	case isTerminal(w) && !o.Step:
		return view.Live(w, o.viewOptions(hosts))
	}
	return view.Lines(w, o.viewOptions(hosts))
}

// viewOptions returns the options of the renderer.
func (o runOptions) viewOptions(hosts []string) view.Options {
	return view.Options{Verbose: o.verbose, Check: o.Check, Diff: o.diff, Hosts: hosts}
}

func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// with returns a display whose events go to another sink, too.
func (s display) with(sink engine.Sink) display {
	open := s.open
	s.open = func() view.Renderer { return tee{open(), sink} }
	return s
}

type tee struct {
	view.Renderer
	other engine.Sink
}

// Emit implements engine.Sink.
func (b tee) Emit(e engine.Event) {
	b.Renderer.Emit(e)
	b.other.Emit(e)
}

// progressDisplay returns a display for a terminal, or one that shows nothing when w is
// no terminal, for verbs that print results of their own.
func (o runOptions) progressDisplay(w io.Writer, hosts []string) display {
	if isTerminal(w) {
		return o.display(w, hosts)
	}
	return display{open: func() view.Renderer { return discard{} }}
}

// failuresOnly is a renderer without the changes of steps, for checks whose changes are
// printed as a plan.
type failuresOnly struct {
	view.Renderer
	json bool
}

// Emit implements engine.Sink.
func (r failuresOnly) Emit(e engine.Event) {
	switch {
	case e.Type == engine.EventPlayStart, e.Type == engine.EventRunStart, e.Type == engine.EventRunEnd:
		return
	case e.Type == engine.EventStepEnd && e.Result != nil && e.Result.Failure == nil && r.json:
		return
	case e.Type == engine.EventStepEnd && e.Result != nil && e.Result.Failure == nil:
		e.Result = &engine.Result{Host: e.Host, Step: e.Step, Status: engine.StatusOK}
	}
	r.Renderer.Emit(e)
}

// discard is a renderer that discards all events.
type discard struct{}

func (discard) Emit(engine.Event) {}
func (discard) Close()            {}
