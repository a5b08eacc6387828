package schedule

import (
	"context"
	"fmt"

	"deployer/engine"
	"deployer/engine/session"
)

// dispatch is a segment in flight.
type dispatch struct {
	host    *host
	entries []*entry
	next    int             // the first entry that is not done
	session session.Session // of the last attempt
}

// run sends the steps, and again after a lost connection, until all have a result.
func (f *dispatch) run(ctx context.Context) error {
	h := f.host
	for idle := 0; ; {
		f.runLocals()
		if f.next == len(f.entries) {
			return nil
		}
		before := f.next
		sent, err := f.send(ctx)
		if failure := f.failure(); failure != nil {
			return failure
		}
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err == nil && f.next == len(f.entries):
			return nil
		case h.stop().Err() != nil:
			return context.Cause(h.stop())
		case err == nil && sent == 0:
			continue
		case err == nil:
			err = errTruncated
		}
		// The connection is lost. Continue with the next step, but give up when one
		// step breaks the connection each time.
		if idle++; f.next > before {
			idle = 1
		}
		if !session.IsConnectionError(err) {
			return &hostFailure{failure: asFailure(err), step: f.stepName()}
		}
		if !session.Retryable(err) || idle > maxIdleLosses {
			return unreachable(fmt.Errorf("connection lost in step %q: %w", f.stepName(), err))
		}
		if err := f.reconnect(ctx, err); err != nil {
			return err
		}
	}
}

// maxIdleLosses is the maximum number of lost connections without a completed step between
// them.
const maxIdleLosses = 3

func (f *dispatch) stepName() string {
	for _, e := range f.entries[f.next:] {
		if e.step != nil {
			return e.step.Name
		}
	}
	return ""
}

// runLocals does the controller's work before the next step.
func (f *dispatch) runLocals() {
	for f.next < len(f.entries) && f.entries[f.next].step == nil {
		f.entries[f.next].local()
		f.next++
	}
}

// failure returns the failure of the entry at which the dispatch stopped.
func (f *dispatch) failure() error {
	if f.next == len(f.entries) {
		return nil
	}
	e := f.entries[f.next]
	if e.result == nil || e.succeeded() || e.result.Status == engine.StatusCancelled {
		return nil
	}
	return &hostFailure{failure: e.result.Failure, step: e.result.Name}
}
