package schedule

import (
	"context"
	"fmt"

	"deployer/engine"
)

// dispatch is a segment on its way.
type dispatch struct {
	host    *host
	entries []*entry
	next    int      // the first entry that is not done
	session *session // it was sent to last
}

// run sends the steps, again after a lost connection, until all are done.
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
		// The connection is lost. Go on where it broke, but not for ever when
		// one step breaks it each time.
		if idle++; f.next > before {
			idle = 1
		}
		if !isConnection(err) {
			return &hostFailure{failure: asFailure(err), step: f.stepName()}
		}
		if !retryable(err) || idle > maxIdleLosses {
			return unreachable(fmt.Errorf("connection lost in step %q: %w", f.stepName(), err), 1)
		}
		if err := f.reconnect(ctx, err); err != nil {
			return err
		}
	}
}

// maxIdleLosses is how often a connection may be lost without one more step
// done in between.
const maxIdleLosses = 3

func (f *dispatch) stepName() string {
	for _, e := range f.entries[f.next:] {
		if e.step != nil {
			return e.step.Name
		}
	}
	return ""
}

// runLocals does what the controller has to do before the next step.
func (f *dispatch) runLocals() {
	for f.next < len(f.entries) && f.entries[f.next].step == nil {
		f.entries[f.next].local()
		f.next++
	}
}

// failure is that of the entry at which the flight stopped, if it failed.
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
