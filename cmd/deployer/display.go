package main

import (
	"io"
	"os"

	"golang.org/x/term"

	"deployer/engine"
	"deployer/engine/view"
)

// display is how a run is shown. It is opened when the first host is about to be
// touched: until then others may use the terminal.
type display struct {
	open func() view.Renderer
	json bool // it shows events as they are
}

// display is the one that the flags ask for.
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

// viewOptions say how much a run shows.
func (o runOptions) viewOptions(hosts []string) view.Options {
	return view.Options{Verbose: o.verbose, Check: o.Check, Diff: o.diff, Hosts: hosts}
}

func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// with is a display beside which another sink gets the events.
func (s display) with(sink engine.Sink) display {
	open := s.open
	s.open = func() view.Renderer { return beside{open(), sink} }
	return s
}

type beside struct {
	view.Renderer
	other engine.Sink
}

// Emit implements engine.Sink.
func (b beside) Emit(e engine.Event) {
	b.Renderer.Emit(e)
	b.other.Emit(e)
}

// answering shows progress on a terminal, and nothing elsewhere: the answers are
// what counts.
func (o runOptions) answering(w io.Writer, hosts []string) display {
	if isTerminal(w) {
		return o.display(w, hosts)
	}
	return display{open: func() view.Renderer { return silence{} }}
}

// onlyTrouble is a renderer that is not told what steps find: a plan shows that
// in its own way.
type onlyTrouble struct {
	view.Renderer
	json bool
}

// Emit implements engine.Sink.
func (r onlyTrouble) Emit(e engine.Event) {
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

// silence is a renderer that shows nothing.
type silence struct{}

func (silence) Emit(engine.Event) {}
func (silence) Close()            {}
