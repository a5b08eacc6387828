package schedule

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"deployer/engine"
	"deployer/engine/lang"
	"deployer/engine/program"
)

// restoreBlock restores what the block of a rollout has changed on the host in this run
// and in the runs that it resumes, the last step first, and then runs the block's readiness
// gates, as a revert of the runs does.
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
	if v := h.inRollout; err == nil && v != nil && !v.block.HasHooks() {
		err = h.recordEnd(ctx, v.block) // post_tasks record it themselves
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

// restoreCache holds the tasks that restore blocks. They are the same on all hosts.
type restoreCache struct {
	mu      sync.Mutex
	byBlock map[*program.Block][]*program.Task
}

// restoreTasks returns the tasks that restore a block: the backups of its tasks in reverse
// order, those of the newest run first; then, in their order, resources that need files
// first, and gates.
func (r *run) restoreTasks(b *program.Block) ([]*program.Task, error) {
	r.restores.mu.Lock()
	defer r.restores.mu.Unlock()
	if tasks, known := r.restores.byBlock[b]; known {
		return tasks, nil
	}
	tasks, err := r.makeRestoreTasks(b)
	if err == nil {
		if r.restores.byBlock == nil {
			r.restores.byBlock = map[*program.Block][]*program.Task{}
		}
		r.restores.byBlock[b] = tasks
	}
	return tasks, err
}

func (r *run) makeRestoreTasks(b *program.Block) ([]*program.Task, error) {
	var undo, hold []*program.Task
	for _, id := range r.chain() {
		for i := b.End - 1; i > b.Begin; i-- {
			if op := r.prog.Ops[i]; op.Kind == program.OpTask {
				t, err := restoreTask(b, op.Task, engine.Revert{Run: id, Task: op.Task.ID, InRollout: true})
				if err != nil {
					return nil, err
				}
				t.Notify = op.Task.Notify
				undo = append(undo, t)
			}
		}
	}
	for i := b.Begin + 1; i < b.End; i++ {
		for _, id := range r.chain() {
			if op := r.prog.Ops[i]; op.Kind == program.OpTask {
				t, err := restoreTask(b, op.Task, engine.Revert{Run: id, Task: op.Task.ID, InRollout: true, AfterFiles: true})
				if err != nil {
					return nil, err
				}
				hold = append(hold, t)
			}
		}
		if g := r.gateAt(i, b); g != nil {
			hold = append(hold, g)
		}
	}
	return append(undo, hold...), nil
}

// chain returns this run and those that it resumes, the newest first.
func (r *run) chain() []string { return append([]string{r.opts.RunID}, r.opts.ResumedRuns...) }

// restoreTask returns the task that reverts a task of a block.
func restoreTask(b *program.Block, of *program.Task, v engine.Revert) (*program.Task, error) {
	t, err := of.Replacing(v.ID(), engine.RevertModule, v)
	if err != nil {
		return nil, err
	}
	t.Prefix = "restore: "
	t.Play, t.Block, t.OnlyHosts, t.Throttle = of.Play, b.Parent, of.OnlyHosts, nil
	return t, nil
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
