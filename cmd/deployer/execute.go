package main

import (
	"context"
	"os"
	"time"

	"deployer/engine"
	"deployer/engine/view"
	"deployer/runs"
	"deployer/runs/telemetry"
)

// runWithDisplay prepares r, opens the display and calls do with it, until do returns.
// The first interrupt of the user ends do after the steps in flight, the second cancels
// its context. The environment may switch on metrics and traces; see package telemetry.
func runWithDisplay[T any](ctx context.Context, r interface{ Prepare(context.Context) error }, s display, do func(context.Context, runs.Observer) (T, error)) (T, error) {
	if err := r.Prepare(ctx); err != nil {
		var none T
		return none, err
	}
	ctx, interrupt, stop := signals(ctx)
	defer stop()
	reporter, err := telemetry.FromEnvironment(ctx, os.Getenv, version)
	if err != nil {
		var none T
		return none, usageError(err)
	}
	renderer := s.open()
	defer renderer.Close()
	observer := runs.Observer{Sink: renderer, CheckSink: failuresOnly{renderer, s.json}, Interrupt: interrupt}
	if reporter == nil {
		return do(ctx, observer)
	}
	observer.Sink = tee{renderer, reporter}
	result, err := do(ctx, observer)
	for _, failed := range reporter.Finish(ctx) {
		renderer.Emit(engine.Event{Time: time.Now(), Type: engine.EventWarning, Text: failed.Error()})
	}
	return result, err
}

// execute runs r, shows its progress and summary, and returns its exit code.
func execute(ctx context.Context, e env, r *runs.Run, o runOptions) error {
	if e.started != nil {
		e.started(r)
		return nil
	}
	remaining, blocked := &runs.CheckRows{Roles: finalRoles}, &drainWarnings{}
	report, err := runWithDisplay(ctx, r, o.display(e.stdout, r.TargetHosts()).with(remaining).with(blocked), r.Do)
	if report == nil {
		return printDrift(e, err)
	}
	outcome := finishRun(e, r, report, o)
	if o.Check && o.output == "text" {
		printBlockedPods(e.stdout, blocked.lines)
	}
	return firstError(err, firstError(outcome, showRemaining(e, o, remaining)))
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
