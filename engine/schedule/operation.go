package schedule

import (
	"context"

	"deployer/engine"
	"deployer/engine/program"
)

// step runs the operation at the cursor and advances the cursor.
func (h *host) step(ctx context.Context, op program.Op) error {
	switch op.Kind {
	case program.OpPlay:
		return h.enterPlay(ctx, op)
	case program.OpBarrier:
		if err := h.flush(ctx); err != nil {
			return err
		}
		if err := h.run.coordinator.barrier(ctx, h, h.cursor); err != nil {
			return h.cannotWait(err)
		}
	case program.OpBatch:
		return h.enterBatch(ctx, op.Play)
	case program.OpTask:
		if err := h.task(ctx, op.Task, h.cursor); err != nil {
			return err
		}
	case program.OpBlock:
		return h.enterBlock(ctx, op.Block)
	case program.OpRescue: // nothing failed
		to := op.Block.End
		if op.Block.Always > 0 {
			to = op.Block.Always
		}
		h.after(func() { h.run.coordinator.jump(h, to, bypassed) })
		h.cursor = to
		return nil
	case program.OpAlways:
		if !h.runsAlways(op.Block) {
			h.skipPostTasks(op.Block)
			return nil
		}
		if err := h.endRescue(ctx, op.Block); err != nil {
			return err
		}
	case program.OpEnd:
		return h.leaveBlock(ctx, op.Block)
	case program.OpLabel:
		at := h.cursor
		h.after(func() { h.run.coordinator.arrive(h, at) })
	case program.OpEndHost:
		return h.endHost(ctx, op)
	case program.OpFlush:
		return h.handlers(ctx, op.Play)
	case program.OpPlayEnd:
		at := h.cursor
		h.after(func() {
			clear(h.notified)
			h.run.coordinator.arrive(h, at)
		})
	}
	h.cursor++
	return nil
}

func (h *host) enterPlay(ctx context.Context, op program.Op) error {
	if !h.plays[op.Play.Index] {
		h.cursor = op.Play.End + 1
		return nil
	}
	if err := h.checkBudget(ctx, op.Play); err != nil {
		return err
	}
	if err := h.restoreHandlers(ctx, op.Play); err != nil {
		return err
	}
	if len(op.Play.Serial) == 0 {
		h.run.announcePlay(op.Play)
	}
	h.cursor++
	return nil
}

// checkBudget aborts the run when the hosts that were lost in earlier plays exceed the
// budget of this play.
func (h *host) checkBudget(ctx context.Context, p *program.Play) error {
	err := h.run.budget.check(p)
	if err == nil {
		return nil
	}
	if ferr := h.flush(ctx); ferr != nil {
		return ferr
	}
	h.run.abort(err)
	return err
}

// enterBlock evaluates the block's condition and waits for the block's throttle or rollout.
func (h *host) enterBlock(ctx context.Context, b *program.Block) error {
	if b.OnlyHosts != nil && !b.OnlyHosts[h.name] {
		h.leapBlock(b)
		return nil
	}
	if err := h.need(ctx, b.Refs()); err != nil {
		return err
	}
	if why := h.unknownReason(b.Refs()); why != "" {
		h.skipBlock(b, func(c *taskCall) { h.skipUnknown(c, nil, why) })
		return nil
	}
	ok, reason, err := b.Applies(h.vars)
	if err != nil {
		return h.failOutsideTask(ctx, b.Name, err)
	}
	if !ok {
		h.skipBlock(b, func(c *taskCall) {
			if h.readsRunVars(b.Refs()) {
				h.skipUnknown(c, nil, readsRunReason)
				return
			}
			h.skipItem(c, nil, reason)
		})
		return nil
	}
	if err := h.needs(ctx, b.Needs); err != nil {
		return err
	}
	if b.Throttle != nil {
		if err := h.flush(ctx); err != nil {
			return err
		}
		limit, err := program.ThrottleLimit(b.Throttle, b.Scopes, h.vars)
		if err != nil {
			return h.failOutsideTask(ctx, b.Name, err)
		}
		h.noteLimit(b, limit)
		if err := h.run.coordinator.enter(ctx, h, b, b.Name, limit); err != nil {
			return h.cannotWait(err)
		}
	}
	if b.Rollout != nil {
		return h.enterRollout(ctx, b)
	}
	if past, err := h.beginBody(ctx, b); past || err != nil {
		return err
	}
	h.cursor++
	return nil
}

// skipBlock moves past the block; skip records each of its tasks.
func (h *host) skipBlock(b *program.Block, skip func(*taskCall)) {
	for i := b.Begin; i < b.End; i++ {
		if b.Rescue > 0 && i >= b.Rescue && (b.Always == 0 || i < b.Always) {
			continue // a rescue part does not run without a failure
		}
		if t := h.run.prog.Ops[i].Task; h.run.prog.Ops[i].Kind == program.OpTask {
			skip(&taskCall{task: t, op: i, id: t.ID})
		}
	}
	h.leapBlock(b)
}

// leapBlock moves past the block without records.
func (h *host) leapBlock(b *program.Block) {
	end := b.End + 1
	h.after(func() { h.run.coordinator.jump(h, end, bypassed) })
	h.cursor = end
}

// endRescue starts a block's always part, after success of the block or of its rescue part.
func (h *host) endRescue(ctx context.Context, b *program.Block) error {
	if h.pendingFailures[b] == nil {
		return nil
	}
	if err := h.flush(ctx); err != nil { // the steps of the rescue must have ended
		return err
	}
	delete(h.pendingFailures, b)
	return nil
}

// leaveBlock ends a block and returns the failure that its always part has delayed.
func (h *host) leaveBlock(ctx context.Context, b *program.Block) error {
	if back, err := h.soak(ctx, b); back || err != nil {
		return err
	}
	if err := h.confirm(ctx, b); err != nil {
		return err
	}
	if err := h.recordEnd(ctx, b); err != nil {
		return err
	}
	if f := h.pendingFailures[b]; f != nil {
		if err := h.flush(ctx); err != nil {
			return err
		}
		delete(h.pendingFailures, b)
		if b.Always > 0 {
			return f
		}
	}
	if b.Throttle != nil {
		h.after(func() { h.leaveThrottle(b) })
	}
	if err := h.finishRollout(ctx, b); err != nil {
		return err
	}
	h.cursor++
	return nil
}

// needs waits for the labels of other hosts. A need that is already met does not end the
// segment.
func (h *host) needs(ctx context.Context, needs []program.Need) error {
	for _, n := range needs {
		ready, err := h.run.coordinator.need(ctx, h, n, true)
		if err == nil && !ready {
			if h.preview != nil {
				h.preview.changes = true
				return nil
			}
			if err := h.flush(ctx); err != nil {
				return err
			}
			_, err = h.run.coordinator.need(ctx, h, n, false)
		}
		if err != nil {
			if ferr := h.flush(ctx); ferr != nil {
				return ferr
			}
			return h.cannotWait(err)
		}
	}
	return nil
}

// cannotWait returns the error of a wait: the end of the run, or a failure of the host
// because the wait can never end.
func (h *host) cannotWait(err error) error {
	if h.stop().Err() != nil {
		return context.Cause(h.stop())
	}
	return &hostFailure{failure: &engine.Failure{Message: err.Error()}, cancelled: true}
}

// failOutsideTask returns the failure of an operation that is no task, such as the
// condition of a block.
func (h *host) failOutsideTask(ctx context.Context, what string, err error) error {
	if ferr := h.flush(ctx); ferr != nil {
		return ferr
	}
	return &hostFailure{failure: asFailure(err), step: what}
}
