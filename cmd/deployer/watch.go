package main

import (
	"context"
	"io"
	"os"

	"golang.org/x/term"

	"deployer/engine"
	"deployer/engine/view"
	"deployer/runs"
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

// watched carries something out that works on hosts, on a display, until it ends or
// is interrupted.
func watched[T any](ctx context.Context, r interface{ Ready(context.Context) error }, s display, do func(context.Context, runs.Watch) (T, error)) (T, error) {
	if err := r.Ready(ctx); err != nil {
		var none T
		return none, err
	}
	ctx, interrupt, stop := signals(ctx)
	defer stop()
	shown := s.open()
	defer shown.Close()
	return do(ctx, runs.Watch{Sink: shown, Look: onlyTrouble{shown, s.json}, Interrupt: interrupt})
}

// carryOut carries a run out, shows it, and chooses the exit code.
func carryOut(ctx context.Context, e env, r *runs.Run, o runOptions) error {
	report, err := watched(ctx, r, o.display(e.stdout, r.Hosts), r.Do)
	if err != nil {
		return told(e, err)
	}
	return finish(e, r, report, o)
}

// finish prints the summary and chooses the exit code.
func finish(e env, r *runs.Run, report *engine.Report, o runOptions) error {
	if o.output == "text" {
		view.Summary(e.stdout, r.Program.Name, report, o.again(r))
	}
	return outcome(report)
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
	case e.Type == engine.PlayStart, e.Type == engine.RunStart, e.Type == engine.RunEnd:
		return
	case e.Type == engine.StepEnd && e.Result != nil && e.Result.Failure == nil && r.json:
		return
	case e.Type == engine.StepEnd && e.Result != nil && e.Result.Failure == nil:
		e.Result = &engine.Result{Host: e.Host, Step: e.Step, Status: engine.OK}
	}
	r.Renderer.Emit(e)
}

// silence is a renderer that shows nothing.
type silence struct{}

func (silence) Emit(engine.Event) {}
func (silence) Close()            {}
