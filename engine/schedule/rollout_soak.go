package schedule

import (
	"context"
	"errors"
	"fmt"

	"deployer/engine"
	"deployer/engine/program"
	"deployer/engine/session"
)

// soak waits after the change and the post_tasks of a canary, and then runs the gates of the
// block again. The end of the run cuts the wait short. When the gates do not hold, the host
// is restored; with pre_tasks it runs these first: back is true, and the cursor is there.
func (h *host) soak(ctx context.Context, b *program.Block) (back bool, err error) {
	v := h.inRollout
	if v == nil || v.block != b || v.soak == 0 || v.failure != nil {
		return false, nil //nolint:nilerr // the failure belongs to another call
	}
	if err := h.flush(ctx); err != nil || !v.changed {
		return false, err
	}
	limit := v.soak
	v.soak = 0
	h.emitWait(fmt.Sprintf("the end of the soak time of %q, %s", b.Name, limit))
	_ = session.Sleep(ctx, h.run.stop, limit) // the gates run in any case
	h.emitWait("")
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	err = h.repeatGates(ctx, b.Rollout.Body)
	var f *hostFailure
	if !errors.As(err, &f) || f.unreachable {
		return false, err
	}
	failure := *f.failure
	failure.Message = fmt.Sprintf("after the soak time of %s: %s", limit, failure.Message)
	f.failure, f.at = &failure, b.Rollout.Body.End
	v.failure, h.cursor = f, b.End
	if !b.HasHooks() {
		return false, f
	}
	v.restoring = true
	h.run.emit(engine.Event{Type: engine.EventWarning, Host: h.name, Text: fmt.Sprintf("checks of %q do not hold after its soak time; restoring the host, after its pre_tasks", b.Name)})
	h.cursor = b.Begin + 1
	return true, nil
}

// repeatGates runs the readiness gates of the body of a rollout.
func (h *host) repeatGates(ctx context.Context, body *program.Block) error {
	for i := body.Begin + 1; i < body.End; i++ {
		g := h.run.gateAt(i, body)
		if g == nil {
			continue
		}
		g.Prefix = "after the soak time: "
		if err := h.perform(ctx, &taskCall{task: g, op: h.cursor, id: g.ID}); err != nil {
			return err
		}
	}
	return h.flush(ctx)
}
