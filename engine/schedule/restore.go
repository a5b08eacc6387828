package schedule

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"deployer/engine"
	"deployer/engine/lang"
	"deployer/engine/program"
)

// restoreBlock restores what the block of a rollout has changed on the host in this run,
// the last step first, and then runs the block's readiness gates, as a revert of the run
// does.
func (h *host) restoreBlock(ctx context.Context, b *program.Block) *engine.RestoreResult {
	h.run.emit(engine.Event{Type: engine.EventWarning, Host: h.name, Text: fmt.Sprintf("restoring what %q has changed", b.Name)})
	out := &engine.RestoreResult{}
	at := h.cursor
	h.restoring, h.seg = out, segment{}
	defer func() { h.restoring, h.cursor = nil, at }()
	tasks, err := h.run.restoreTasks(b)
	for _, t := range tasks {
		if err == nil {
			err = h.perform(ctx, &taskCall{task: t, op: b.Begin, id: t.ID})
		}
	}
	if err == nil {
		err = h.flush(ctx)
	}
	if err == nil {
		err = h.runRestoreHandlers(ctx, tasks)
	}
	var f *hostFailure
	switch {
	case errors.As(err, &f):
		out.Failure = fmt.Sprintf("%q: %s", f.step, f.failure.Message)
	case err != nil:
		out.Failure = err.Error()
	}
	return out
}

// restoreTasks returns the tasks that restore a block: the backups of its tasks in reverse
// order; then, in their order, resources that need files first, and gates.
func (r *run) restoreTasks(b *program.Block) ([]*program.Task, error) {
	var undo, hold []*program.Task
	for i := b.Begin + 1; i < b.End; i++ {
		op := r.prog.Ops[i]
		if op.Kind != program.OpTask {
			continue
		}
		for _, late := range []bool{false, true} {
			v := engine.Revert{Run: r.opts.RunID, Task: op.Task.ID, AfterFiles: late, SameRun: true}
			t, err := op.Task.Replacing(v.ID(), engine.RevertModule, v)
			if err != nil {
				return nil, err
			}
			t.Prefix = "restore: "
			t.Play, t.Block, t.OnlyHosts, t.Throttle = op.Task.Play, b.Parent, op.Task.OnlyHosts, nil
			if late {
				hold = append(hold, t)
			} else {
				t.Notify = op.Task.Notify
				undo = append(undo, t)
			}
		}
		if g := r.gateAt(i, b); g != nil {
			hold = append(hold, g)
		}
	}
	slices.Reverse(undo)
	return append(undo, hold...), nil
}

// gateAt returns the readiness gate of a task of the body of a rollout; nil for none.
func (r *run) gateAt(i int, body *program.Block) *program.Task {
	op := r.prog.Ops[i]
	if op.Kind != program.OpTask || rescues(op.Block, i) {
		return nil
	}
	g := op.Task.Gate(guards(op, body))
	if g != nil {
		g.Block, g.Notify, g.Needs, g.Throttle = body.Parent, nil, nil, nil
	}
	return g
}

// guards returns the conditions of a task and of the blocks around it, inside of the
// rollout.
func guards(op program.Op, rollout *program.Block) []*lang.Expr {
	when := op.Task.When
	for b := op.Block; b != nil && b != rollout; b = b.Parent {
		when = append(slices.Clip(b.When), when...)
	}
	return when
}

// runRestoreHandlers runs the handlers of the restored tasks, so that processes use the
// restored files.
func (h *host) runRestoreHandlers(ctx context.Context, tasks []*program.Task) error {
	if len(h.notified) == 0 || len(tasks) == 0 {
		return nil
	}
	if err := h.handlers(ctx, tasks[0].Play); err != nil {
		return err
	}
	return h.flush(ctx)
}
