package schedule

import (
	"context"
	"fmt"

	"deployer/engine"
	"deployer/engine/program"
)

// task brings one task to the host: into the segment, or at once where it runs
// on the controller or has to take its turn.
func (h *host) task(ctx context.Context, t *program.Task, at int) error {
	err := h.perform(ctx, &call{task: t, op: at, id: t.ID})
	if err == nil && t.RunOnce {
		h.run.coord.goesAround(h, at) // without effect for those who came to it
	}
	return err
}

// call is one use of a task: in the program, or as a handler.
type call struct {
	task *program.Task
	op   int
	id   string
	nth  int // of a handler's runs
	// onChange are the steps of the segment that notify a handler.
	onChange []string
}

func (h *host) perform(ctx context.Context, c *call) error {
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
	// A task that does not apply need not wait for what only its arguments
	// look at.
	if err := h.need(ctx, t.WhenRefs()); err != nil {
		return err
	}
	if why := h.unknowable(t.WhenRefs()); why != "" {
		h.skipUnknown(c, nil, why)
		return nil
	}
	if !t.WhenPerItem() {
		ok, reason, err := t.Applies(h.vars)
		if err != nil {
			return h.failTask(ctx, c, err)
		}
		if !ok {
			h.skipFor(c, reason)
			return nil
		}
	}
	if err := h.need(ctx, t.Refs()); err != nil {
		return err
	}
	if why := h.unknowable(t.Refs()); why != "" {
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
	h.limit(t, limit)
	if err := h.run.coord.enter(ctx, h, t, fmt.Sprintf("%q", t.Name), limit); err != nil {
		return h.cannotWait(err)
	}
	defer h.run.coord.exit(h, t)
	if err := h.performOnce(ctx, c); err != nil {
		return err
	}
	return h.flush(ctx)
}

// performOnce does a run_once task if this host is elected, and else takes over
// what the elected one registered.
func (h *host) performOnce(ctx context.Context, c *call) error {
	t := c.task
	if !t.RunOnce {
		return h.items(ctx, c)
	}
	if err := h.flush(ctx); err != nil {
		return err
	}
	key := onceKey{t, c.nth, h.batches[t.Play.Index]}
	owner, out, err := h.run.coord.elect(ctx, h, key, c.op)
	if err != nil {
		return h.cannotWait(err)
	}
	if !owner {
		return h.shareOnce(t, out)
	}
	h.given = nil
	err = h.items(ctx, c)
	if err == nil {
		err = h.flush(ctx)
	}
	out = outcome{host: h.name, defined: h.given}
	if f, ok := err.(*failed); ok && !f.unreachable && !f.cancelled { //nolint:errorlint // never wrapped
		out.failure = f.failure
		f.forAll = true
	} else if err != nil {
		return err // another host will be elected
	}
	if t.Register != "" {
		out.registered, _ = h.registeredMap(t.Register)
	}
	if names := t.Defines(); len(names) > 0 {
		out.unsure = h.unsure[names[0]]
	}
	h.run.coord.complete(key, out)
	return err
}

func (h *host) shareOnce(t *program.Task, out outcome) error {
	if out.failure != nil {
		return &failed{step: t.Name, cancelled: true, failure: &engine.Failure{
			Message: failedForAll(t.Name, out.host, out.failure.Message)}}
	}
	if out.registered != nil {
		h.register(t.Register, out.registered)
	}
	for name, value := range out.defined {
		h.vars.Define(name, value)
	}
	if out.unsure != (unsure{}) {
		h.doubt(t.Defines(), out.unsure)
	}
	return nil
}

// items does the task, once for each item when it has a loop.
func (h *host) items(ctx context.Context, c *call) error {
	if c.task.Loop == nil {
		return h.one(ctx, c, nil)
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
		if err := h.one(ctx, c, &iteration{loop, i, item}); err != nil {
			return err
		}
	}
	return nil
}

// one does the task for one item; at is nil without a loop.
func (h *host) one(ctx context.Context, c *call, at *iteration) error {
	for {
		if !h.stillWanted(c) {
			return nil
		}
		if at != nil && len(c.task.Sets) > 0 { // an item may look at what the one before has set
			if err := h.need(ctx, c.task.Refs()); err != nil {
				return err
			}
		}
		built, err := h.build(ctx, c, at)
		switch {
		case err != nil:
			return h.failItem(ctx, c, at, err)
		case built.late: // it looks at what the segment will register
			if err := h.flush(ctx); err != nil {
				return err
			}
			continue
		case built.unknown != "":
			h.skipUnknown(c, at, built.unknown)
			return nil
		case built.skip:
			h.skipItem(c, at, built.reason)
			return nil
		case built.action != nil:
			return h.act(ctx, c, at, built)
		case built.on != nil:
			return h.visit(ctx, c, at, built)
		}
		return h.add(ctx, &entry{op: c.op, step: built.step, task: c.task, at: at,
			judge: c.task.NeedsEvaluation(), conditional: len(c.onChange) > 0})
	}
}
