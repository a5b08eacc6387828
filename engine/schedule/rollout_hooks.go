package schedule

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"deployer/engine"
	"deployer/engine/program"
)

// Reasons for which a host skips the pre_tasks or post_tasks of a rollout.
const (
	unchangedReason = "nothing of the rollout would change this host"
	dueReason       = "an earlier run has changed this host, and did not come to the end of the rollout"
)

// changeStays describes a host on which only post_tasks have failed.
const changeStays = "its change has passed its checks and stays"

// rolloutPart is a part of a block with a rollout.
type rolloutPart int

const (
	inBody rolloutPart = iota
	inPreTasks
	inPostTasks
)

// placeOf returns the part of the rollout that an operation is in. The begin of the block
// counts as pre_tasks, and its end as post_tasks.
func (v *rolloutVisit) placeOf(op int) rolloutPart {
	switch b := v.block; {
	case !b.HasHooks():
		return inBody
	case op <= b.Rollout.Body.Begin:
		return inPreTasks
	case op > b.Always:
		return inPostTasks
	}
	return inBody
}

// during describes when a host was lost or interrupted.
func (p rolloutPart) during() string {
	switch p {
	case inPreTasks:
		return "in pre_tasks, before it was changed"
	case inPostTasks:
		return "in post_tasks, after its change had passed its checks"
	}
	return "while it was changed"
}

// lost completes the restore result of a host that was lost.
func (p rolloutPart) lost() string {
	switch p {
	case inPreTasks:
		return " in pre_tasks; its change was not begun"
	case inPostTasks:
		return " in post_tasks; " + changeStays
	}
	return ""
}

// beginRollout moves the host into the block. changes is false when only checks and
// post_tasks are due.
func (h *host) beginRollout(b *program.Block, changes bool) error {
	h.begun = b
	if !changes {
		h.skipPreTasks(b, dueReason)
		return nil
	}
	if h.inRollout != nil {
		h.inRollout.preTasks = b.HasHooks()
	}
	if err := h.recordRollout(b, false); err != nil {
		return err
	}
	h.cursor++
	return nil
}

// runsAlways reports whether the host runs the always part of a block, which may be
// post_tasks.
func (h *host) runsAlways(b *program.Block) bool { return !b.HasHooks() || h.begun == b }

// skipPreTasks moves the host to the body of a block with a rollout.
func (h *host) skipPreTasks(b *program.Block, reason string) {
	body := b.Rollout.Body
	if !b.HasHooks() {
		h.cursor++
		return
	}
	h.skipOps(b.Begin+1, body.Begin, reason)
	h.after(func() { h.run.coordinator.jump(h, body.Begin, bypassed) })
	h.cursor = body.Begin
}

// skipPostTasks moves the host from the begin of the post_tasks to the end of the block.
func (h *host) skipPostTasks(b *program.Block) {
	h.skipOps(b.Always+1, b.End, unchangedReason)
	h.after(func() { h.run.coordinator.jump(h, b.End, bypassed) })
	h.cursor = b.End
}

// skipOps records the tasks of a range of operations as skipped.
func (h *host) skipOps(from, to int, reason string) {
	for i := from; i < to; i++ {
		if op := h.run.prog.Ops[i]; op.Kind == program.OpTask && !rescues(op.Block, i) {
			h.skipItem(&taskCall{task: op.Task, op: i, id: op.Task.ID}, nil, reason)
		}
	}
}

// beginPostTasks records the failure f at the cursor, after which the host runs the
// post_tasks of b. beginPostTasks returns the failure that they handle: an earlier one, when the host
// was to be restored.
func (h *host) beginPostTasks(b *program.Block, f *hostFailure) *hostFailure {
	v := h.inRollout
	if v == nil || v.block != b {
		return f
	}
	if v.restoring {
		v.failure.restored = &engine.RestoreResult{Failure: fmt.Sprintf("pre_tasks failed before its restore, at %q: %s", f.step, f.failure.Message)}
		return v.failure
	}
	f.at, v.failure, v.preTasks = h.cursor, f, false
	if v.placeOf(f.at) == inPreTasks && !f.cancelled {
		f.restored = &engine.RestoreResult{NotBegun: true}
	}
	return f
}

// recordEnd records on the host that it has come to the end of the rollout of b.
func (h *host) recordEnd(ctx context.Context, b *program.Block) error {
	if h.begun != b {
		return nil
	}
	if err := h.recordRollout(b, true); err != nil {
		return err
	}
	if err := h.flush(ctx); err != nil {
		return err
	}
	h.begun = nil
	delete(h.pendingHandlers, b.Rollout.Name)
	return nil
}

// begunBefore reports whether an earlier run has begun the rollout on the host and has not
// come to its end.
func (h *host) begunBefore(b *program.Block) bool { return h.pendingHandlers[b.Rollout.Name] }

// recordRollout adds a step that records on the host that it has begun the rollout of b, or
// has come to its end.
func (h *host) recordRollout(b *program.Block, done bool) error {
	if h.run.opts.CheckOnly {
		return nil
	}
	return h.addRecord(b, engine.RolloutRecord{Rollout: b.Rollout.Name, Done: done})
}

// addRecord adds a step that makes a record of the rollout of b.
func (h *host) addRecord(b *program.Block, record engine.RolloutRecord) error {
	step, err := recordStep(record)
	if err != nil {
		return err
	}
	task := &program.Task{ID: step.ID, Name: step.Name, Play: h.run.prog.Ops[b.Begin].Play, Block: b, Kind: engine.Kind{Name: step.Module}}
	h.seg.entries = append(h.seg.entries, &entry{op: h.cursor, task: task, step: step})
	h.seg.steps++
	return nil
}

func recordStep(record engine.RolloutRecord) (*engine.Step, error) {
	args, err := json.Marshal(record)
	if err != nil {
		return nil, fmt.Errorf("arguments of %s: %w", engine.RolloutRecordModule, err)
	}
	return &engine.Step{ID: record.ID(), Name: record.ID(), Module: engine.RolloutRecordModule, Args: args, Quiet: true}, nil
}

// stopInPreTasks turns the end of the run into a failure that leads to the post_tasks, for a
// host that has begun pre_tasks and is not changed yet.
func (h *host) stopInPreTasks(ctx context.Context, err error) error {
	if err == nil || h.inRollout == nil || !h.inRollout.preTasks || ctx.Err() != nil || h.run.stop.Err() == nil {
		return err
	}
	var f *hostFailure
	if errors.As(err, &f) && !f.cancelled {
		return err
	}
	h.seg = segment{}
	return &hostFailure{failure: asFailure(context.Cause(h.run.stop)), cancelled: true}
}

// followedBy returns f with the failure of the post_tasks that ran after it.
func (f *hostFailure) followedBy(post *hostFailure) *hostFailure {
	if f.cancelled {
		post.restored = &engine.RestoreResult{Failure: "its change was not begun, only post_tasks failed"}
		return post
	}
	both, failure := *f, *f.failure
	text := fmt.Sprintf("post_tasks failed too, at %q: %s", post.step, post.failure.Message)
	failure.Detail = strings.TrimPrefix(strings.TrimRight(failure.Detail, "\n")+"\n"+text, "\n")
	both.failure, both.unreachable = &failure, post.unreachable
	if restored := (engine.RestoreResult{}); f.restored != nil {
		restored = *f.restored
		restored.Failure = strings.TrimPrefix(restored.Failure+"; "+text, "; ")
		both.restored = &restored
	} else {
		both.restored = &engine.RestoreResult{Failure: text}
	}
	return &both
}
