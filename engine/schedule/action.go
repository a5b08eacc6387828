package schedule

import (
	"context"
	"fmt"
	"maps"
	"runtime/debug"
	"time"

	"deployer/engine"
	"deployer/engine/program"
	"deployer/engine/sanitize"
	"deployer/jsontypes"
)

// runAction runs an action on the controller.
func (h *host) runAction(ctx context.Context, c *taskCall, at *iteration, b *rendered) error {
	if err := h.flush(ctx); err != nil {
		return err
	}
	// A gate would wait for the effect of changes that a preview does not make.
	if h.preview != nil && h.preview.changes {
		return nil
	}
	if err := h.run.connections.AwaitMajority(ctx, h.stop()); err != nil {
		return err
	}
	if err := h.run.actions.Acquire(h.stop()); err != nil {
		return err
	}
	defer h.run.actions.Release()
	t := c.task
	e := &entry{op: c.op, task: t, at: at, step: &engine.Step{ID: stepID(c.id, at), Name: b.title}}
	e.step.Expect = h.expect(e.step.ID)
	if h.preview == nil {
		h.run.emit(engine.Event{Type: engine.EventStepStart, Host: h.name, Step: e.step.ID, Name: b.title, Role: t.Role})
	}
	s := &actionContext{host: h, call: c, step: e.step, at: at, stop: h.stop()}
	started := time.Now()
	var res engine.Result
	for try := 1; ; try++ {
		res = h.tryAction(ctx, s, b.action, t)
		res.Tries = try
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if res.Status == engine.StatusCancelled {
			break
		}
		again := h.evaluateResult(t, e, &res)
		if !again || h.preview != nil || try > t.Retries || h.stop().Err() != nil {
			break
		}
		if err := h.sleep(ctx, t.Delay); err != nil {
			return err
		}
		// The arguments may read something that has changed.
		rebuilt, err := h.render(ctx, c, at)
		if err != nil {
			return h.failItem(ctx, c, at, err)
		}
		b.action = rebuilt.action
	}
	res.Started, res.Elapsed = started, time.Since(started)
	if res.Status == engine.StatusCancelled {
		h.record(e, res)
		return context.Cause(h.stop())
	}
	return h.end(e, res)
}

// tryAction checks and applies once. A stop of the run cancels a check, a wait for others,
// and the Apply of a cancellable action; it lets every other Apply end.
func (h *host) tryAction(ctx context.Context, s *actionContext, a engine.Action, t *program.Task) (res engine.Result) {
	res = engine.Result{Status: engine.StatusOK, Secret: t.Secret}
	fail := func(ctx context.Context, err error) engine.Result {
		if cause := context.Cause(ctx); h.stop().Err() != nil && cause == context.Cause(h.stop()) { //nolint:errorlint // the very same
			res.Status, res.Reason = engine.StatusCancelled, cause.Error()
			return res
		}
		res.Status, res.Failure = engine.StatusFailed, asFailure(withCause(ctx, err))
		if withholdsTexts(t) {
			res.Failure = withheld(ctx, t.Kind.Name)
		}
		return res
	}
	defer func() { sanitize.Result(&res) }() // servers on hosts answer actions
	defer func() {
		if p := recover(); p != nil {
			res.Status = engine.StatusFailed
			res.Failure = &engine.Failure{Message: fmt.Sprintf("internal error in %s: %v", t.Kind.Name, p), Detail: string(debug.Stack())}
			if withholdsTexts(t) {
				res.Failure = &engine.Failure{Message: fmt.Sprintf("internal error in %s, which is a bug of deployer; the task is secret, so details are withheld", t.Kind.Name)}
			}
		}
	}()
	if t.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, t.Timeout, fmt.Errorf("not done within %s", t.Timeout))
		defer cancel()
	}
	idle, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := h.stop()
	defer context.AfterFunc(stop, func() { cancel(context.Cause(stop)) })()
	change, err := a.Check(idle, s)
	if t.Secret {
		change.Effects = engine.WithheldEffects(change.Effects, t.Kind.Name)
	}
	res.Change = &change
	sanitize.Result(&res) // a plan has the sanitized effects
	if err != nil {
		return fail(idle, err)
	}
	if res.Output, err = toJSONTypes(change.Output); err != nil {
		return fail(ctx, err)
	}
	res.Change.Output = nil // the result holds it, as for modules
	if !change.Needed {
		return res
	}
	if !change.Wait {
		res.Status = engine.StatusChanged
	}
	if h.checking() {
		return res
	}
	if err := s.step.Expect.Allows(change); err != nil {
		res.Change = nil
		return fail(ctx, err)
	}
	if y, ok := a.(engine.Cancellable); change.Wait || ok && y.Cancellable() {
		ctx = idle
	}
	out, err := a.Apply(ctx, s, change)
	if err != nil {
		return fail(ctx, err)
	}
	applied, err := toJSONTypes(out)
	if err != nil {
		return fail(ctx, err)
	}
	res.Output = merged(res.Output, applied)
	return res
}

// withholdsTexts reports whether errors and progress of an action may contain what its task
// keeps secret: those of programs and servers that a playbook names. The actions of
// deployer's own roles describe what is wrong with keys by fixed texts.
func withholdsTexts(t *program.Task) bool { return t.Secret && !t.Kind.Internal }

// withheld returns the failure of an action without the texts of its error. The end of a time
// limit remains.
func withheld(ctx context.Context, action string) *engine.Failure {
	text := action + " failed"
	if ctx.Err() != nil {
		text += ": " + context.Cause(ctx).Error()
	}
	return &engine.Failure{Message: text + "; the task is secret, so the reason is withheld"}
}

// withCause adds the cause of the end of ctx, which "context deadline exceeded" does not
// contain.
func withCause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%w: %w", context.Cause(ctx), err)
	}
	return err
}

// merged returns the output of the check, overridden by that of Apply.
func merged(check, apply engine.Output) engine.Output {
	if len(check) == 0 {
		return apply
	}
	out := maps.Clone(check)
	maps.Copy(out, apply)
	return out
}

// toJSONTypes converts an action's output to the types of JSON, which registered results
// and the redactor expect.
func toJSONTypes(o engine.Output) (engine.Output, error) {
	if len(o) == 0 {
		return nil, nil
	}
	m, err := jsontypes.FromGo(map[string]any(o))
	if err != nil {
		return nil, fmt.Errorf("output of the action: %w", err)
	}
	return m.(map[string]any), nil
}
