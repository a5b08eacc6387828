package operations

import (
	"context"

	"deployer/engine"
	"deployer/engine/view"
	"deployer/runs"
)

// Caller is who starts operations: the command line, CI, a service or a test.
type Caller interface {
	// Watch calls do with an observer for the events of a run, and returns its error. The
	// caller may show the events and interrupt the run.
	Watch(ctx context.Context, w Watched, do func(context.Context, runs.Observer) error) error
	// Confirm asks whether to go on with what has been shown. Nil means yes. Any error ends
	// the operation, which has changed nothing since the question.
	Confirm(question string) error
	// Show gets a result; results come in the order of the work. An error ends the operation.
	Show(result Result) error
}

// Activity says what the events of a run are about.
type Activity int

const (
	// Changing is a run that changes hosts, or its dry run.
	Changing Activity = iota
	// Checking is a dry run whose changes become a plan.
	Checking
	// Surveying compares a cluster with its inventory.
	Surveying
	// Previewing queries hosts for what a revert would restore.
	Previewing
)

// Watched is a run that a caller may show.
type Watched struct {
	Activity Activity
	Hosts    []string
}

// Operator carries out operations. Its methods return an *[Ended] for an operation that ended
// other than with success, a *project.UserError for invalid input, and other errors for faults
// of deployer.
type Operator struct {
	Runner runs.Runner
	Caller Caller
}

// preparable is a run, or the query of a revert.
type preparable interface {
	Prepare(ctx context.Context) error
}

// watch prepares a run, which may ask for passwords, and calls do with an observer of the
// caller. Events go to sinks, too.
func watch[T any](ctx context.Context, o Operator, r preparable, w Watched, do func(context.Context, runs.Observer) (T, error), sinks ...engine.Sink) (out T, err error) {
	if err := r.Prepare(ctx); err != nil {
		return out, err
	}
	err = o.Caller.Watch(ctx, w, func(ctx context.Context, to runs.Observer) (err error) {
		if len(sinks) > 0 {
			to.Sink = view.Tee(append([]engine.Sink{to.Sink}, sinks...)...)
		}
		out, err = do(ctx, to)
		return err
	})
	return out, err
}
