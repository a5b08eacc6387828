package schedule

import (
	"context"

	"deployer/engine/program"
)

// endHost moves the host to the end of the play if the condition holds; pending handlers
// run there.
func (h *host) endHost(ctx context.Context, op program.Op) error {
	if err := h.need(ctx, op.Ends.Refs()); err != nil {
		return err
	}
	if why := h.unknownReason(op.Ends.Refs()); why != "" {
		return h.endPlay(ctx, op, func(c *taskCall) { h.skipUnknown(c, nil, why) })
	}
	applies, _, err := op.Ends.Applies(h.vars)
	switch {
	case err != nil:
		return h.failOutsideTask(ctx, op.Ends.Name, err)
	case !applies:
		h.cursor++
		return nil
	}
	return h.endPlay(ctx, op, func(c *taskCall) {
		if h.readsRunVars(op.Ends.Refs()) {
			h.skipUnknown(c, nil, readsRunReason)
			return
		}
		h.skipItem(c, nil, "the host has left the play at "+op.Ends.Pos.String())
	})
}

// endPlay leaves all blocks and skips the rest of the play; skip records each task. A
// failure that is pending for an always part is returned.
func (h *host) endPlay(ctx context.Context, op program.Op, skip func(*taskCall)) error {
	for b := op.Block; b != nil; b = b.Parent {
		if f := h.pendingFailures[b]; f != nil && b.Always > 0 && h.cursor > b.Always {
			if err := h.flush(ctx); err != nil {
				return err
			}
			return f
		}
	}
	for i := h.cursor + 1; i < op.Play.Last; i++ {
		if other := h.run.prog.Ops[i]; other.Kind == program.OpTask && !rescues(other.Block, i) {
			skip(&taskCall{task: other.Task, op: i, id: other.Task.ID})
		}
	}
	for b := op.Block; b != nil; b = b.Parent {
		h.after(func() {
			h.leaveThrottle(b)
			delete(h.pendingFailures, b)
		})
	}
	h.after(func() { h.run.coordinator.jump(h, op.Play.Last, bypassed) })
	h.cursor = op.Play.Last
	return nil
}

// rescues reports whether an operation is in the rescue part of a block.
func rescues(b *program.Block, op int) bool {
	for ; b != nil; b = b.Parent {
		if b.Rescue > 0 && op > b.Rescue && (b.Always == 0 || op < b.Always) {
			return true
		}
	}
	return false
}
