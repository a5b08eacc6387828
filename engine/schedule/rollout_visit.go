package schedule

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"deployer/engine"
	"deployer/engine/program"
	"deployer/engine/rollout"
)

// rolloutVisit is the state of a host inside of a block with a rollout.
type rolloutVisit struct {
	block   *program.Block
	changed bool // a step of the body has changed something
	// preTasks is true until the body begins: the end of the run still stops the host.
	preTasks bool
	// soak is the time for which the host, a canary, is watched after its change; 0 for none.
	soak time.Duration
	// restoring is true when the host runs the pre_tasks again, before its restore, because
	// its gates did not hold after the soak time.
	restoring bool
	// failure is the failure after which the host runs the post_tasks; nil for none.
	failure *hostFailure
	ifLost  lossPlan
}

// enterRollout previews the block on the host, waits for a turn if the block would change
// something, and moves the cursor: into the block, to its body or past the block.
func (h *host) enterRollout(ctx context.Context, b *program.Block) error {
	if err := h.flush(ctx); err != nil {
		return err
	}
	inForce, err := b.InForce(h.vars)
	if err != nil {
		return h.failOutsideTask(ctx, b.Name, err)
	}
	if !inForce {
		h.run.coordinator.passRollout(h, b.Begin, func(r *rollout.Rollout) { r.Pass(h.name) })
		h.skipPreTasks(b, "the rollout is not in force on this host")
		return nil
	}
	limits, err := h.entrant(b)
	if err != nil {
		return h.failOutsideTask(ctx, b.Name, err)
	}
	soak, err := b.Duration("soak", b.Rollout.Soak, h.vars)
	if err != nil {
		return h.failOutsideTask(ctx, b.Name, err)
	}
	if h.noteLimit(b, limits.MaxParallel); h.run.opts.CheckOnly {
		return h.checkRollout(ctx, b)
	}
	found, err := h.previewBlock(ctx, b)
	if err != nil {
		return err
	}
	if !found.changes && !h.begunBefore(b) {
		h.run.coordinator.passRollout(h, b.Begin, func(r *rollout.Rollout) { r.PassIn(h.name, limits.Domains) })
		if found.waits && found.failed == nil {
			h.skipPreTasks(b, unchangedReason)
			return nil
		}
		return h.acceptPreview(b, found)
	}
	ifLost, err := b.Duration("restore_if_lost", b.Rollout.RestoreIfLost, h.vars)
	if err != nil {
		return h.failOutsideTask(ctx, b.Name, err)
	}
	limits.Interrupted = h.begunBefore(b)
	limits.Finishing = limits.Interrupted && !found.changes
	limits.FailedBefore = slices.Contains(h.run.opts.FailedBefore, h.name)
	if err := h.run.coordinator.enterRollout(ctx, h, b.Begin, limits); err != nil {
		return h.cannotWait(err)
	}
	h.inRollout = &rolloutVisit{block: b}
	if h.run.coordinator.isCanary(h, b.Begin) {
		h.inRollout.soak = soak
	}
	if ifLost > 0 {
		if err := h.prepareForLoss(ctx, ifLost); err != nil {
			return h.failOutsideTask(ctx, b.Name, err)
		}
	}
	return h.beginRollout(b, found.changes)
}

// checkRollout decides in check mode whether the host would run pre_tasks and post_tasks.
func (h *host) checkRollout(ctx context.Context, b *program.Block) error {
	if !b.HasHooks() {
		h.cursor++
		return nil
	}
	found, err := h.previewBlock(ctx, b)
	if err != nil {
		return err
	}
	switch {
	case found.changes, found.failed != nil && h.checkState.firstChange != "":
		return h.beginRollout(b, true)
	case h.begunBefore(b):
		return h.beginRollout(b, false)
	}
	h.skipPreTasks(b, unchangedReason)
	return nil
}

// beginBody ends the pre_tasks when b is the body of the host's rollout. From here on the
// host comes to the end of the block or is restored. past is true when it was restored, and
// the cursor is at the post_tasks.
func (h *host) beginBody(ctx context.Context, b *program.Block) (past bool, err error) {
	v := h.inRollout
	if v == nil || v.block.Rollout.Body != b || !v.preTasks && !v.restoring {
		return false, nil
	}
	if err := h.flush(ctx); err != nil {
		return false, err
	}
	if v.restoring {
		h.restoreBody(ctx, v.failure)
		h.handleFailure(v.block, v.block.Always+1, v.failure)
		return true, nil
	}
	if h.run.stop.Err() != nil {
		return false, context.Cause(h.run.stop)
	}
	v.preTasks = false
	return false, nil
}

// finishRollout ends the block, after its last check.
func (h *host) finishRollout(ctx context.Context, b *program.Block) error {
	if h.inRollout == nil || h.inRollout.block != b {
		return nil
	}
	if err := h.flush(ctx); err != nil {
		return err
	}
	outcome := rollout.Unchanged
	if h.inRollout.changed {
		outcome = rollout.Proved
	}
	h.inRollout = nil
	_ = h.run.coordinator.leaveRollout(h, b.Begin, outcome, "") // only a failure stops the rollout
	return nil
}

// failBlock handles a failure that leaves block b: at the end of the body of the host's
// rollout the host is restored, at the end of the block it leaves the rollout. failBlock returns
// the failure to report.
func (h *host) failBlock(ctx context.Context, b *program.Block, f *hostFailure) *hostFailure {
	if h.inRollout != nil && h.inRollout.block.Rollout.Body == b {
		h.restoreBody(ctx, f)
	}
	if h.inRollout != nil && h.inRollout.block == b {
		f = h.failRollout(ctx, f)
	}
	return f
}

// restoreBody restores what the body of the rollout has changed on the host, if that is
// possible and wanted.
func (h *host) restoreBody(ctx context.Context, f *hostFailure) {
	switch {
	case f.unreachable || ctx.Err() != nil:
	case h.run.opts.NoRestore:
		f.restored = &engine.RestoreResult{Failure: "it was not restored, because the run has --no-restore"}
	default:
		f.restored = h.restoreBlock(ctx, h.inRollout.block.Rollout.Body)
		if f.restored.Clean() {
			h.forgetRestored(h.inRollout.block)
		}
		f.restored.ByHost = h.inRollout.ifLost.restored
		if f.restored.Clean() && f.restored.Steps == 0 && !h.inRollout.changed {
			f.restored = nil
		}
	}
}

// failRollout takes a host out of its rollout because of f, after its restore. failRollout returns
// the failure to report: the first one, when post_tasks have failed after another failure.
func (h *host) failRollout(ctx context.Context, f *hostFailure) *hostFailure {
	v := h.inRollout
	place, first := v.placeOf(h.cursor), v.failure
	if first != nil && !first.cancelled {
		place = v.placeOf(first.at)
	}
	if first != nil && first != f {
		f = first.followedBy(f)
	}
	outcome, cause := rollout.Failed, ""
	switch {
	case f == first && f.cancelled: // the run was stopped during pre_tasks
		outcome = rollout.Unchanged
	case ctx.Err() != nil:
		cause = fmt.Sprintf("%s was interrupted %s", h.name, place.during())
	case f.unreachable && v.failure == nil:
		f.restored = &engine.RestoreResult{Failure: "the host was lost" + place.lost() + v.ifLost.whileLost()}
		cause = fmt.Sprintf("%s was lost %s", h.name, place.during())
	case place == inPreTasks:
		if f.restored == nil {
			f.restored = &engine.RestoreResult{NotBegun: true}
		}
		cause = fmt.Sprintf("%s failed at %q in pre_tasks; %s", h.name, f.step, f.restored)
	case place == inPostTasks:
		if f.restored == nil {
			f.restored = &engine.RestoreResult{Failure: changeStays}
		}
		cause = fmt.Sprintf("%s failed at %q in post_tasks; %s", h.name, f.step, f.restored.Failure)
	case f.restored == nil:
		outcome = rollout.Unchanged
	case h.run.opts.NoRestore:
		cause = fmt.Sprintf("%s failed at %q after it was changed, and was not restored, because the run has --no-restore", h.name, f.step)
	default:
		cause = fmt.Sprintf("%s failed at %q after it was changed; %s", h.name, f.step, f.restored)
	}
	h.inRollout, h.begun = nil, nil
	if why := h.run.coordinator.leaveRollout(h, v.block.Begin, outcome, cause); why != nil {
		h.run.abort(why)
	}
	return f
}

// loseInRollout takes a host out of its rollout that was lost there, or whose run was
// stopped at once.
func (h *host) loseInRollout(ctx context.Context, err error) error {
	var f *hostFailure
	if !errors.As(err, &f) {
		f = &hostFailure{failure: asFailure(err)}
	}
	f.unreachable = f.unreachable || ctx.Err() == nil
	if f = h.failRollout(ctx, f); errors.As(err, new(*hostFailure)) {
		return f
	}
	return err
}

// countRolloutChange counts a step that has changed or restored something.
func (h *host) countRolloutChange(e *entry) {
	switch {
	case h.restoring != nil && e.task.Kind.Name == engine.RevertModule:
		h.restoring.Steps++
	case h.inRollout != nil && h.inRollout.placeOf(e.op) == inBody:
		h.inRollout.changed = true
	}
}

// stop returns the context that ends when the host must end after the step in flight.
// Inside of a rollout, behind its pre_tasks, that is only when the run is stopped at once: a
// host that is being changed proves its change or is restored, whatever happens to others. A
// host whose failure counts runs its always parts; an interrupt by the user ends them. Only the
// host's goroutine may call it.
func (h *host) stop() context.Context {
	switch {
	case h.inRollout != nil && !h.inRollout.preTasks:
		return h.run.ctx
	case h.failureCounted:
		return h.run.interrupt
	}
	return h.run.stop
}
