package schedule

import (
	"context"
	"fmt"
	"strings"
	"time"

	"deployer/engine"
	"deployer/engine/program"
	"deployer/engine/session"
)

// delegatedSession is a session for steps of another host. delegatedSession adds that host's name to the
// ids of steps, which differ then from those that the host runs for itself.
type delegatedSession struct {
	session.Session
	of string
}

// Run implements session.Session.
func (g delegatedSession) Run(ctx context.Context, seg engine.Segment, on func(engine.Result)) error {
	mark := "/" + g.of
	steps := make([]engine.Step, len(seg.Steps))
	for i, s := range seg.Steps {
		s.ID += mark
		steps[i] = s
	}
	seg.Steps = steps
	return g.Session.Run(ctx, seg, func(r engine.Result) {
		r.Step = strings.TrimSuffix(r.Step, mark)
		on(r)
	})
}

// delegateTo returns the connection to the machine that runs the task.
func (h *host) delegateTo(t *program.Task) (*session.Connection, error) {
	name, err := t.Delegate.Value(h.vars)
	if err != nil {
		return nil, err
	}
	if name = strings.TrimSpace(name); name == "" {
		return nil, t.Delegate.Pos.Errorf("delegate_to is empty; give it the name of a host")
	}
	if name == program.Localhost && h.run.byName[name] == nil {
		return h.run.connections.Local(name), nil
	}
	return h.run.connections.Host(name), nil
}

// runDelegated runs a step of this host on another machine. The result counts for this
// host.
func (h *host) runDelegated(ctx context.Context, c *taskCall, at *iteration, b *rendered) error {
	if err := h.flush(ctx); err != nil {
		return err
	}
	e := &entry{op: c.op, task: c.task, at: at, step: b.step, on: b.delegate.Name()}
	h.run.emit(engine.Event{Type: engine.EventStepStart, Host: h.name, Step: b.step.ID, Name: b.title, Role: c.task.Role})
	if err := b.delegate.Delegated.Acquire(h.stop()); err != nil {
		return err
	}
	defer b.delegate.Delegated.Release()
	started := time.Now()
	res, err := h.sendDelegated(ctx, b.delegate, e)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil && h.stop().Err() != nil:
		h.record(e, engine.Result{Status: engine.StatusCancelled, Reason: err.Error(), Started: started})
		return context.Cause(h.stop())
	case err != nil:
		failure := *asFailure(err)
		failure.Message = fmt.Sprintf("delegated to %s: %s", b.delegate.Name(), failure.Message)
		res = engine.Result{Status: engine.StatusFailed, Failure: &failure, Started: started, Elapsed: time.Since(started)}
	case e.interrupted && res.Status == engine.StatusOK:
		h.notify(e.task) // the step had begun when the connection was lost
	}
	return h.end(e, res)
}

// sendDelegated sends the step until it has a result. sendDelegated returns an error for a machine
// that cannot be reached, or not again.
func (h *host) sendDelegated(ctx context.Context, l *session.Connection, e *entry) (engine.Result, error) {
	attempts := h.run.opts.Retry.Attempts
	for losses := 0; ; losses++ {
		there, err := l.Get(ctx, h.stop(), attempts)
		if err != nil {
			return engine.Result{}, asHostFailure(err)
		}
		res, err := h.runOnce(ctx, there, e)
		if err == nil || ctx.Err() != nil || h.stop().Err() != nil || !session.Retryable(err) || losses == maxIdleLosses {
			return res, err
		}
		e.interrupted = true
		h.run.emit(engine.Event{Type: engine.EventHostRetry, Host: l.Name(), Text: "connection lost (" + err.Error() + "); connecting again"})
		l.Drop(there)
		attempts = h.run.opts.Retry.Reattempts
	}
}

// runOnce sends the step and evaluates its result.
func (h *host) runOnce(ctx context.Context, s session.Session, e *entry) (engine.Result, error) {
	release, err := h.acquireForks(e.op)
	if err != nil {
		return engine.Result{}, err
	}
	defer release()
	if stopper, ok := s.(session.Stopper); ok {
		stop := h.stop()
		defer context.AfterFunc(stop, func() { stopper.Stop(context.Cause(stop).Error()) })()
	}
	there := delegatedSession{s, h.name}
	res, err := h.runStep(ctx, there, *e.step)
	if err != nil || !e.task.NeedsEvaluation() {
		return res, err
	}
	e.result = &res
	return h.evaluate(ctx, there, e), nil
}
