package schedule

import (
	"context"
	"fmt"
	"time"

	"deployer/engine"
	"deployer/engine/program"
	"deployer/engine/protocol"
	"deployer/engine/session"
)

// lossPlan is what a host in a rollout does when its agent loses the controller.
type lossPlan struct {
	after time.Duration // after which it restores itself
	// arm is the step that tells the agent; nil when the host does nothing. armedOn is the
	// session whose agent was told.
	arm     *engine.Step
	armedOn session.Session
	reverts map[string]bool // ids of the steps that restore something
	// passed is true when the change has passed its gates and the host was reached anew, so
	// that it keeps the change.
	passed   bool
	restored bool // the host has restored itself
}

// lossPlan returns the plan that is in force on the host; nil for none.
func (h *host) lossPlan() *lossPlan {
	if v := h.inRollout; v != nil && v.ifLost.arm != nil && !v.ifLost.passed {
		return &v.ifLost
	}
	return nil
}

// restoreTime bounds what follows on a host that was lost: its agent sees the loss, and the
// steps of the restore run.
const restoreTime = protocol.DefaultIdleTimeout + 2*time.Minute

// whileLost completes the failure of a host that was lost and did not come back.
func (p *lossPlan) whileLost() string {
	if p.arm == nil || p.passed {
		return ""
	}
	return fmt.Sprintf("; its agent restores its previous state after %s without a connection, and nobody has seen the result", p.after)
}

// prepareForLoss makes the step that tells the agents of the host to restore the body of the
// host's rollout after a time without controller: the reverts, the gates with which
// services follow the restored files, and the handlers. Gates and handlers that need the
// controller, or a result of the body, are left out; such handlers stay pending.
func (h *host) prepareForLoss(ctx context.Context, after time.Duration) error {
	b := h.inRollout.block
	tasks, err := h.run.restoreTasks(b.Rollout.Body)
	if err != nil {
		return err
	}
	restore := &engine.UnattendedRestore{After: after}
	plan := lossPlan{after: after, reverts: map[string]bool{}}
	notified := map[*program.Task][]string{}
	for _, t := range tasks {
		steps := h.unattendedSteps(ctx, &taskCall{task: t, op: b.Begin, id: t.ID})
		restore.Steps = append(restore.Steps, steps...)
		if len(steps) == 0 || t.Kind.Name != engine.RevertModule {
			continue
		}
		plan.reverts[steps[0].ID] = true
		for _, handler := range t.Notify {
			notified[handler] = append(notified[handler], steps[0].ID)
		}
	}
	for _, t := range h.run.prog.Ops[b.Begin].Play.Handlers {
		if on := notified[t]; len(on) > 0 {
			restore.Steps = append(restore.Steps, h.unattendedSteps(ctx, &taskCall{task: t, op: b.Begin, id: t.ID + "@lost", onChange: on})...)
		}
	}
	for i := range restore.Steps {
		restore.Steps[i].IgnoreErrors = true // one that fails must not keep the others from it
	}
	plan.arm, err = recordStep(engine.RolloutRecord{Rollout: b.Rollout.Name, IfLost: restore})
	h.inRollout.ifLost = plan
	return err
}

// unattendedSteps returns the steps of a task that an agent without controller can run; none
// when the task needs the controller, or what it needs is not known yet.
func (h *host) unattendedSteps(ctx context.Context, c *taskCall) []engine.Step {
	t := c.task
	if !h.unattended(t) || t.OnlyHosts != nil && !t.OnlyHosts[h.name] {
		return nil
	}
	if !t.WhenPerItem() {
		if ok, _, err := t.Applies(h.vars); err != nil || !ok {
			return nil
		}
	}
	items := []*iteration{nil}
	if t.Loop != nil {
		all, err := t.Items(h.vars)
		if err != nil {
			return nil
		}
		items = nil
		loop := &loopRun{total: len(all)}
		for i, item := range all {
			items = append(items, &iteration{loop, i, item})
		}
	}
	var out []engine.Step
	for _, at := range items {
		made, err := h.render(ctx, c, at)
		if err != nil || made.needsFlush || made.unknown != "" {
			return nil
		}
		if made.step == nil { // its condition is false, or it has nothing to wait for
			continue
		}
		step := *made.step
		step.Expect = nil // the plan is one of the change
		out = append(out, step)
	}
	return out
}

// armed returns the steps with the one before them that tells the agent of a new session what
// to do when it loses the controller. Nobody waits for its result.
func (h *host) armed(live session.Session, steps []engine.Step) []engine.Step {
	plan := h.lossPlan()
	if plan == nil || plan.armedOn == live {
		return steps
	}
	plan.armedOn = live
	arm := *plan.arm
	arm.IgnoreErrors = true
	return append([]engine.Step{arm}, steps...)
}

// confirmTime bounds the attempts to connect anew after a change.
const confirmTime = 30 * time.Second

// confirm proves at the end of the body b of a rollout that the change has not cut the host
// off: results may still arrive when nothing reaches the host any more, and a session survives
// an sshd that lets nobody in. From then on the host keeps the change.
func (h *host) confirm(ctx context.Context, b *program.Block) error {
	plan, v := h.lossPlan(), h.inRollout
	if plan == nil || v.failure != nil || v.block.Rollout.Body != b || h.pendingFailures[b] != nil {
		return nil
	}
	if err := h.flush(ctx); err != nil {
		return err
	}
	if v.changed {
		within, cancel := context.WithTimeoutCause(ctx, confirmTime, fmt.Errorf("no login succeeded within %s", confirmTime))
		defer cancel()
		if err := h.connection.Probe(within); err != nil && ctx.Err() == nil {
			return &hostFailure{step: "a new connection to the host", failure: &engine.Failure{Message: "after the change the host cannot be logged in to, while the present session works: " + err.Error()}}
		}
	}
	// The host may have restored itself while it was tried to connect. Then the present session
	// is lost, and its next message shows that.
	if err := h.addRecord(v.block, engine.RolloutRecord{Rollout: v.block.Rollout.Name, Passed: true}); err != nil {
		return err
	}
	if err := h.flush(ctx); err != nil {
		return err
	}
	plan.passed = true
	return nil
}

// reopen connects to a host again after a loss. A host that restores itself is given the time
// for it.
func (h *host) reopen(ctx context.Context) error {
	plan := h.lossPlan()
	if plan == nil {
		return h.connect(ctx, h.run.opts.Retry.Reattempts)
	}
	h.emitWait(fmt.Sprintf("the host, which restores itself after %s without a connection", plan.after))
	defer h.emitWait("")
	limit := plan.after + restoreTime
	late, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no connection within %s", limit))
	defer cancel()
	if err := h.connection.Reopen(late); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return unreachable(err)
	}
	return h.connect(ctx, h.run.opts.Retry.Reattempts)
}

// restoredItself returns the failure of a host that has restored itself since its session
// was lost, according to the steps that have begun there; nil for any other host, and for one
// that is being restored anyway.
func (h *host) restoredItself(begun map[string]bool) *hostFailure {
	plan := h.lossPlan()
	if plan == nil {
		return nil
	}
	for id := range plan.reverts {
		if begun[id] {
			plan.restored, h.inRollout.changed = true, true
		}
	}
	if !plan.restored || h.restoring != nil {
		return nil
	}
	return &hostFailure{failure: &engine.Failure{Message: fmt.Sprintf("the connection was lost in this step for more than %s", plan.after)}}
}
