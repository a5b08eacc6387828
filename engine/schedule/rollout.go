package schedule

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"deployer/engine"
	"deployer/engine/program"
	"deployer/engine/rollout"
)

// blockRollout is the rollout of a block for the hosts of a play, or of one batch. The
// coordinator's lock guards it.
type blockRollout struct {
	block   *program.Block
	rules   *rollout.Rollout
	waiters map[string]*waiter
	cause   string // the first failure
}

// newBlockRollout resolves the groups of a rollout.
func (r *run) newBlockRollout(b *program.Block, members []*host) (*blockRollout, error) {
	names := make([]string, len(members))
	for i, h := range members {
		names[i] = h.name
	}
	sets := func(groups []string) ([]map[string]bool, error) {
		var out []map[string]bool
		for _, g := range groups {
			hosts, err := r.opts.Match(g)
			if err != nil {
				return nil, b.Rollout.Pos.Errorf("rollout: group %q: %v", g, err)
			}
			set := map[string]bool{}
			for _, h := range hosts {
				set[h] = true
			}
			out = append(out, set)
		}
		return out, nil
	}
	canary, err := sets(b.Rollout.Canary)
	if err != nil {
		return nil, err
	}
	single, err := sets(b.Rollout.OneAtATime)
	if err != nil {
		return nil, err
	}
	rules := rollout.Rules{Canary: canary, OneAtATime: single, MaxFail: b.Rollout.MaxFail.Of(len(members))}
	return &blockRollout{block: b, rules: rollout.New(rules, names), waiters: map[string]*waiter{}}, nil
}

// recordArrival records how a host passed the block's sync point.
func (r *blockRollout) recordArrival(h *host, f arrival) {
	switch f {
	case bypassed:
		r.rules.Pass(h.name)
	case lost:
		r.rules.Withdraw(h.name)
	case arrived: // enterRollout and passRollout follow
	}
}

// admit admits the hosts whose turn it is, and refuses all after the rollout has stopped.
func (c *coordinator) admit(r *blockRollout) {
	for _, name := range r.rules.Next() {
		c.release(r.waiters[name], nil)
		delete(r.waiters, name)
	}
	if !r.rules.Stopped() {
		return
	}
	for name, w := range r.waiters {
		c.release(w, r.stopped())
		delete(r.waiters, name)
	}
}

// stopped returns the error of hosts that are not admitted any more.
func (r *blockRollout) stopped() error {
	return fmt.Errorf("the rollout of %q has stopped: %s", r.block.Name, r.cause)
}

// passRollout records that the block at op changes nothing on h, or that the rollout is not
// in force there.
func (c *coordinator) passRollout(h *host, op int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.recordUpTo(h, op, arrived)
	g := c.syncPoint(h, op, h.run.prog.Ops[op].Play)
	g.rollout.rules.Pass(h.name)
	c.releaseWaiters(g)
}

// enterRollout waits for h's turn in the block at op, in which at most limit hosts are
// changed in parallel.
func (c *coordinator) enterRollout(ctx context.Context, h *host, op, limit int) error {
	c.mu.Lock()
	c.recordUpTo(h, op, arrived)
	g := c.syncPoint(h, op, h.run.prog.Ops[op].Play)
	r := g.rollout
	if r.rules.Stopped() {
		c.mu.Unlock()
		return r.stopped()
	}
	w := newWaiter(h, fmt.Sprintf("its turn in the rollout of %q (a canary first, then %d at a time)", r.block.Name, limit))
	r.rules.Wait(h.name, h.index, limit)
	r.waiters[h.name] = w
	c.releaseWaiters(g)
	return c.await(ctx, w)
}

// leaveRollout takes h out of the block at op. It returns an error when this failure stops
// the rollout.
func (c *coordinator) leaveRollout(h *host, op int, o rollout.Outcome, cause string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.syncPoint(h, op, h.run.prog.Ops[op].Play)
	r := g.rollout
	before := r.rules.Stopped()
	if o == rollout.Failed && r.cause == "" {
		r.cause = cause
	}
	r.rules.Leave(h.name, o)
	defer c.releaseWaiters(g)
	if before || !r.rules.Stopped() {
		return nil
	}
	untouched := "all other hosts were done or had nothing to change"
	if n := r.rules.Untouched(); n == 1 {
		untouched = "1 other host was left as it is"
	} else if n > 1 {
		untouched = fmt.Sprintf("%d other hosts were left as they are", n)
	}
	return fmt.Errorf("the rollout of %q has stopped: %s; %s", r.block.Name, cause, untouched)
}

// rolloutVisit is the state of a host inside of a block with a rollout.
type rolloutVisit struct {
	block   *program.Block
	changed bool // a step has changed something
}

// enterRollout previews the block on the host, and waits for a turn if the block would
// change something. past is true when it would not, and the host has moved past the block.
func (h *host) enterRollout(ctx context.Context, b *program.Block) (past bool, err error) {
	if err := h.flush(ctx); err != nil {
		return false, err
	}
	inForce, err := b.InForce(h.vars)
	if err != nil {
		return false, h.failOutsideTask(ctx, b.Name, err)
	}
	if !inForce {
		h.run.coordinator.passRollout(h, b.Begin)
		return false, nil
	}
	limit, err := b.MaxParallel(h.vars, h.run.coordinator.members(h, b))
	if err != nil {
		return false, h.failOutsideTask(ctx, b.Name, err)
	}
	if h.noteLimit(b, limit); h.run.opts.CheckOnly {
		return false, nil
	}
	found, err := h.previewBlock(ctx, b)
	if err != nil {
		return false, err
	}
	if !found.changes {
		h.run.coordinator.passRollout(h, b.Begin)
		if found.waits && found.failed == nil {
			return false, nil
		}
		return true, h.acceptPreview(b, found)
	}
	if err := h.run.coordinator.enterRollout(ctx, h, b.Begin, limit); err != nil {
		return false, h.cannotWait(err)
	}
	h.inRollout = &rolloutVisit{block: b}
	return false, nil
}

// members returns the number of hosts of the block's rollout.
func (c *coordinator) members(h *host, b *program.Block) int {
	return len(c.syncPoint(h, b.Begin, h.run.prog.Ops[b.Begin].Play).members)
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

// failRollout takes a host out of its rollout because of f, and restores what the block has
// changed, if that is possible and wanted.
func (h *host) failRollout(ctx context.Context, f *hostFailure) {
	b := h.inRollout.block
	outcome, cause := rollout.Failed, ""
	switch {
	case f.unreachable:
		f.restored = &engine.RestoreResult{Failure: "the host was lost"}
		cause = fmt.Sprintf("%s was lost while it was changed", h.name)
	case ctx.Err() != nil:
		cause = fmt.Sprintf("%s was interrupted while it was changed", h.name)
	case h.run.opts.NoRestore:
		f.restored = &engine.RestoreResult{Failure: "left as it is, as asked"}
		cause = fmt.Sprintf("%s failed at %q after it was changed, and was left as it is, as asked", h.name, f.step)
	default:
		f.restored = h.restoreBlock(ctx, b)
		if f.restored.Clean() && !h.inRollout.changed {
			outcome, f.restored = rollout.Unchanged, nil
			break
		}
		cause = fmt.Sprintf("%s failed at %q after it was changed; %s", h.name, f.step, f.restored)
	}
	h.inRollout = nil
	if why := h.run.coordinator.leaveRollout(h, b.Begin, outcome, strings.TrimSpace(cause)); why != nil {
		h.run.abort(why)
	}
}

// loseInRollout takes a host out of its rollout that was lost there, or whose run was
// stopped at once.
func (h *host) loseInRollout(ctx context.Context, err error) error {
	var f *hostFailure
	if !errors.As(err, &f) {
		f = &hostFailure{failure: asFailure(err)}
	}
	f.unreachable = f.unreachable || ctx.Err() == nil
	h.failRollout(ctx, f)
	return err
}

// countRolloutChange counts a step that has changed or restored something.
func (h *host) countRolloutChange(e *entry) {
	switch {
	case h.restoring != nil && e.task.Kind.Name == engine.RevertModule:
		h.restoring.Steps++
	case h.inRollout != nil:
		h.inRollout.changed = true
	}
}

// stop returns the context that ends when the host must end after the step in flight.
// Inside of a rollout that is only when the run is stopped at once: a host that is being
// changed proves its change or is restored, whatever happens to others.
func (h *host) stop() context.Context {
	if h.inRollout != nil {
		return h.run.ctx
	}
	return h.run.stop
}
