package main

import (
	"context"

	"deployer/engine"
	"deployer/engine/view"
	"deployer/runs"
)

// watched carries something out that works on hosts, on a display, until it ends or
// is interrupted.
func watched[T any](ctx context.Context, r interface{ Prepare(context.Context) error }, s display, do func(context.Context, runs.Observer) (T, error)) (T, error) {
	if err := r.Prepare(ctx); err != nil {
		var none T
		return none, err
	}
	ctx, interrupt, stop := signals(ctx)
	defer stop()
	shown := s.open()
	defer shown.Close()
	return do(ctx, runs.Observer{Sink: shown, CheckSink: onlyTrouble{shown, s.json}, Interrupt: interrupt})
}

// carryOut carries a run out, shows it, and chooses the exit code.
func carryOut(ctx context.Context, e env, r *runs.Run, o runOptions) error {
	report, err := watched(ctx, r, o.display(e.stdout, r.TargetHosts()), r.Do)
	if report == nil {
		return told(e, err)
	}
	return worse(err, finish(e, r, report, o))
}

// worse is what became of a run of which something beside it, such as its log, has
// failed too.
func worse(beside, outcome error) error {
	if beside != nil {
		return beside
	}
	return outcome
}

// finish prints the summary and chooses the exit code.
func finish(e env, r *runs.Run, report *engine.Report, o runOptions) error {
	if o.output == "text" {
		view.Summary(e.stdout, r.Program.Name, report, o.again(r))
	}
	return outcome(report)
}
