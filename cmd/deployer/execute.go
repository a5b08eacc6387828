package main

import (
	"context"

	"deployer/engine"
	"deployer/engine/view"
	"deployer/runs"
)

// runWithDisplay prepares r, opens the display and calls do with it, until do returns.
// The first interrupt of the user ends do after the steps in flight, the second cancels
// its context.
func runWithDisplay[T any](ctx context.Context, r interface{ Prepare(context.Context) error }, s display, do func(context.Context, runs.Observer) (T, error)) (T, error) {
	if err := r.Prepare(ctx); err != nil {
		var none T
		return none, err
	}
	ctx, interrupt, stop := signals(ctx)
	defer stop()
	renderer := s.open()
	defer renderer.Close()
	return do(ctx, runs.Observer{Sink: renderer, CheckSink: failuresOnly{renderer, s.json}, Interrupt: interrupt})
}

// execute runs r, shows its progress and summary, and returns its exit code.
func execute(ctx context.Context, e env, r *runs.Run, o runOptions) error {
	report, err := runWithDisplay(ctx, r, o.display(e.stdout, r.TargetHosts()), r.Do)
	if report == nil {
		return printDrift(e, err)
	}
	return firstError(err, finishRun(e, r, report, o))
}

// firstError returns the error of a run's log or connections, or else the outcome of
// the run.
func firstError(err, outcome error) error {
	if err != nil {
		return err
	}
	return outcome
}

// finishRun prints the summary of a run and returns its exit code.
func finishRun(e env, r *runs.Run, report *engine.Report, o runOptions) error {
	return finishRunWithHint(e, r, report, o, o.rerunHint(r))
}

// finishRunWithHint is finishRun with the command that users should type next; empty for
// none.
func finishRunWithHint(e env, r *runs.Run, report *engine.Report, o runOptions, hint string) error {
	if o.output == "text" {
		view.Summary(e.stdout, r.Program.Name, report, hint)
	}
	return exitOutcome(report)
}
