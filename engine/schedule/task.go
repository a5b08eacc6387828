package schedule

import (
	"context"
	"fmt"

	"deployer/engine"
	"deployer/engine/program"
)

// task runs one task of the program: it adds steps to the segment, or runs the task at once
// when it is an action or has a throttle.
func (h *host) task(ctx context.Context, t *program.Task, at int) error {
	err := h.perform(ctx, &taskCall{task: t, op: at, id: t.ID})
	if err == nil && t.RunOnce {
		h.run.coordinator.bypass(h, at) // no effect for hosts that arrived
	}
	return err
}

// taskCall is one use of a task: in the program, or as a handler.
type taskCall struct {
	task *program.Task
	op   int
	id   string
	nth  int // of a handler's runs
	// onChange are the steps of the segment that notify a handler.
	onChange []string
}

func (h *host) perform(ctx context.Context, c *taskCall) error {
	t := c.task
	if t.OnlyHosts != nil && !t.OnlyHosts[h.name] {
		return nil
	}
	if yes, err := h.confirmed(ctx, t); err != nil || !yes {
		if err == nil {
			h.skipItem(c, nil, "not confirmed")
		}
		return err
	}
	// A task whose condition is false need not wait for results that only its
	// arguments read.
	if err := h.need(ctx, t.WhenRefs()); err != nil {
		return err
	}
	if why := h.unknownReason(t.WhenRefs()); why != "" {
		h.skipUnknown(c, nil, why)
		return nil
	}
	if !t.WhenPerItem() {
		ok, reason, err := t.Applies(h.vars)
		if err != nil {
			return h.failTask(ctx, c, err)
		}
		if !ok {
			h.skipByCondition(c, reason)
			return nil
		}
	}
	if err := h.need(ctx, t.Refs()); err != nil {
		return err
	}
	if why := h.unknownReason(t.Refs()); why != "" {
		h.skipUnknown(c, nil, why)
		return nil
	}
	if err := h.needs(ctx, t.Needs); err != nil {
		return err
	}
	if t.Throttle == nil {
		return h.performOnce(ctx, c)
	}
	if err := h.flush(ctx); err != nil {
		return err
	}
	limit, err := program.ThrottleLimit(t.Throttle, t.Scopes, h.vars)
	if err != nil {
		return h.failTask(ctx, c, err)
	}
	h.noteLimit(t, limit)
	if err := h.run.coordinator.enter(ctx, h, t, fmt.Sprintf("%q", t.Name), limit); err != nil {
		return h.cannotWait(err)
	}
	if err := h.performOnce(ctx, c); err != nil {
		return err // a host that fails leaves the throttle in rescue or park
	}
	if err := h.flush(ctx); err != nil {
		return err
	}
	h.run.coordinator.exit(h, t)
	return nil
}

// performOnce runs a run_once task if this host is elected, and else takes the outcome of
// the elected host.
func (h *host) performOnce(ctx context.Context, c *taskCall) error {
	t := c.task
	if !t.RunOnce {
		return h.performItems(ctx, c)
	}
	if err := h.flush(ctx); err != nil {
		return err
	}
	key := runOnceKey{t, c.nth, h.batches[t.Play.Index]}
	owner, out, err := h.run.coordinator.elect(ctx, h, key, c.op)
	if err != nil {
		return h.cannotWait(err)
	}
	if !owner {
		return h.shareOnce(t, out)
	}
	h.lastSet = nil
	err = h.performItems(ctx, c)
	if err == nil {
		err = h.flush(ctx)
	}
	out = runOnceOutcome{host: h.name, defined: h.lastSet}
	if f, ok := err.(*hostFailure); ok && !f.unreachable && !f.cancelled { //nolint:errorlint // never wrapped
		out.failure = f.failure
		f.runOnce = true
	} else if err != nil {
		return err // another host will be elected
	}
	if t.Register != "" {
		out.registered, _ = h.registeredMap(t.Register)
	}
	if names := t.Defines(); len(names) > 0 {
		out.tentative = h.tentativeVars[names[0]]
	}
	h.run.coordinator.complete(key, out)
	return err
}

func (h *host) shareOnce(t *program.Task, out runOnceOutcome) error {
	if out.failure != nil {
		return &hostFailure{step: t.Name, cancelled: true, failure: &engine.Failure{
			Message: runOnceFailure(t.Name, out.host, out.failure.Message)}}
	}
	if out.registered != nil {
		h.register(t.Register, out.registered)
	}
	for name, value := range out.defined {
		h.vars.Define(name, value)
	}
	if out.tentative != (tentative{}) {
		h.markTentative(t.Defines(), out.tentative)
	}
	return nil
}

// performItems runs the task, once for each item of its loop.
func (h *host) performItems(ctx context.Context, c *taskCall) error {
	if c.task.Loop == nil {
		return h.performItem(ctx, c, nil)
	}
	items, err := c.task.Items(h.vars)
	if err != nil {
		return h.failTask(ctx, c, err)
	}
	if len(items) == 0 {
		h.skipItem(c, nil, "the loop has no items")
		return nil
	}
	loop := &loopRun{total: len(items)}
	for i, item := range items {
		if err := h.performItem(ctx, c, &iteration{loop, i, item}); err != nil {
			return err
		}
	}
	return nil
}

// performItem runs the task for one item; at is nil without a loop.
func (h *host) performItem(ctx context.Context, c *taskCall, at *iteration) error {
	for {
		if !h.stillWanted(c) {
			return nil
		}
		if at != nil && len(c.task.Sets) > 0 { // an item may read variables that the previous item set
			if err := h.need(ctx, c.task.Refs()); err != nil {
				return err
			}
		}
		rendered, err := h.render(ctx, c, at)
		switch {
		case err != nil:
			return h.failItem(ctx, c, at, err)
		case rendered.needsFlush: // it reads a result of the segment
			if err := h.flush(ctx); err != nil {
				return err
			}
			continue
		case rendered.unknown != "":
			h.skipUnknown(c, at, rendered.unknown)
			return nil
		case rendered.skip:
			h.skipItem(c, at, rendered.reason)
			return nil
		case rendered.action != nil:
			return h.runAction(ctx, c, at, rendered)
		case rendered.delegate != nil:
			return h.runDelegated(ctx, c, at, rendered)
		}
		return h.add(ctx, &entry{op: c.op, step: rendered.step, task: c.task, at: at,
			needsEvaluation: c.task.NeedsEvaluation(), conditional: len(c.onChange) > 0})
	}
}
