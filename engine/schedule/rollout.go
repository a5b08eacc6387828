package schedule

import (
	"context"
	"fmt"

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

// members returns the number of hosts of the block's rollout.
func (c *coordinator) members(h *host, b *program.Block) int {
	return len(c.syncPoint(h, b.Begin, h.run.prog.Ops[b.Begin].Play).members)
}
