package main

import (
	"context"
	"os"
	"time"

	"deployer/engine"
	"deployer/runs"
	"deployer/runs/telemetry"
)

// runWithDisplay prepares r, opens the display and calls do with it, until do returns; see
// watch.
func runWithDisplay[T any](ctx context.Context, r interface{ Prepare(context.Context) error }, s display, do func(context.Context, runs.Observer) (T, error)) (out T, err error) {
	if err := r.Prepare(ctx); err != nil {
		return out, err
	}
	err = watch(ctx, s, func(ctx context.Context, w runs.Observer) (err error) {
		out, err = do(ctx, w)
		return err
	})
	return out, err
}

// watch opens the display and calls do with it, until do returns. The first interrupt of the
// user ends do after the steps in flight, the second cancels its context. The environment may
// switch on metrics and traces; see package telemetry.
func watch(ctx context.Context, s display, do func(context.Context, runs.Observer) error) error {
	ctx, interrupt, stop := signals(ctx)
	defer stop()
	reporter, err := telemetry.FromEnvironment(ctx, os.Getenv, version)
	if err != nil {
		return usageError(err)
	}
	renderer := s.open()
	defer renderer.Close()
	observer := runs.Observer{Sink: renderer, CheckSink: failuresOnly{renderer, s.json}, Interrupt: interrupt}
	if reporter == nil {
		return do(ctx, observer)
	}
	observer.Sink = tee{renderer, reporter}
	err = do(ctx, observer)
	for _, failed := range reporter.Finish(ctx) {
		renderer.Emit(engine.Event{Time: time.Now(), Type: engine.EventWarning, Text: failed.Error()})
	}
	return err
}

// execute runs r, shows its progress and summary, and returns its exit code.
func execute(ctx context.Context, e env, r *runs.Run, o runOptions) error {
	if e.started != nil {
		e.started(r)
		return nil
	}
	return printDrift(e, newConsole(e, o, false).operator(runs.Runner{}).Execute(ctx, r))
}

// firstError returns the error of a run's log or connections, or else the outcome of
// the run.
func firstError(err, outcome error) error {
	if err != nil {
		return err
	}
	return outcome
}
