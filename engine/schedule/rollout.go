package schedule

import (
	"context"
	"fmt"
	"maps"

	"deployer/engine/lang"
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
	first   string // describes for people which hosts come first
	run     *run
	paused  bool
}

// newBlockRollout computes the groups of a rollout, with the variables that the first host
// has before the run.
func (r *run) newBlockRollout(b *program.Block, members []*host) (*blockRollout, error) {
	out := &blockRollout{run: r, block: b, waiters: map[string]*waiter{}}
	names := make([]string, len(members))
	for i, h := range members {
		names[i] = h.name
	}
	if len(members) == 0 {
		out.rules = rollout.New(rollout.Rules{}, nil)
		return out, nil
	}
	vars := members[0].vars
	canary, err := r.groupsOf(b, "canary", b.Rollout.Canary, vars)
	if err != nil {
		return nil, err
	}
	single, err := r.groupsOf(b, "one_at_a_time", b.Rollout.OneAtATime, vars)
	if err != nil {
		return nil, err
	}
	groups, err := r.groupsOf(b, "critical", b.Rollout.Critical, vars)
	if err != nil {
		return nil, err
	}
	critical := map[string]bool{}
	for _, g := range groups {
		maps.Copy(critical, g)
	}
	canaries, err := b.Limit("canaries", b.Rollout.Canaries, vars)
	if err == nil && canaries.Share {
		err = b.Rollout.Pos.Errorf("canaries: want a number of hosts of each group, got %s", canaries)
	}
	if err != nil {
		return nil, err
	}
	pause, err := r.pauses(b, vars)
	if err != nil {
		return nil, err
	}
	if canaries.Count == 0 {
		canary = nil
	}
	if len(canary) > 0 {
		out.first = "a canary first, then "
	}
	steps, err := r.stepsOf(b, vars, names)
	if err != nil {
		return nil, err
	}
	out.rules = rollout.New(rollout.Rules{Canary: canary, Canaries: canaries.Count, OneAtATime: single, Critical: critical, Pause: pause, Steps: steps}, names)
	return out, nil
}

// groupsOf returns the hosts of groups of a rollout; key is their keyword.
func (r *run) groupsOf(b *program.Block, key string, groups program.HostGroups, vars *lang.Vars) ([]map[string]bool, error) {
	names, err := b.Groups(key, groups, vars)
	if err != nil {
		return nil, err
	}
	var out []map[string]bool
	for _, g := range names {
		hosts, err := r.opts.Match(g)
		if err != nil {
			return nil, b.Rollout.Pos.Errorf("rollout: %s: group %q: %v", key, g, err)
		}
		set := map[string]bool{}
		for _, h := range hosts {
			set[h] = true
		}
		out = append(out, set)
	}
	return out, nil
}

// entrant computes the limits of the block's rollout for the host.
func (h *host) entrant(b *program.Block) (e rollout.Entrant, err error) {
	r, total := b.Rollout, h.run.coordinator.members(h, b)
	e = rollout.Entrant{Host: h.name, Order: h.index}
	parallel, err := b.Limit("max_parallel", r.MaxParallel, h.vars)
	if err != nil {
		return e, err
	}
	fail, err := b.Limit("max_fail", r.MaxFail, h.vars)
	if err != nil {
		return e, err
	}
	e.MaxParallel, e.MaxFail = max(parallel.Of(total), 1), fail.Of(total)
	if e.Spread, err = b.Text(r.Spread, h.vars); err != nil {
		return e, err
	}
	domains, err := b.Domains("max_unavailable", r.MaxUnavailable, h.vars)
	for i, d := range domains {
		e.Domains = append(e.Domains, rollout.Domain{Name: fmt.Sprintf("%d=%s", i, d.Value), Max: d.Limit})
	}
	return e, err
}

// isCanary reports whether h has entered the rollout at op as a canary.
func (c *coordinator) isCanary(h *host, op int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.syncPoint(h, op, h.run.prog.Ops[op].Play).rollout.rules.IsCanary(h.name)
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
	if r.rules.Paused() && !r.paused {
		r.paused = true
		r.run.pause(r.block)
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

// noteLeftInside notes in the rollouts ahead of h that an earlier run was interrupted while h
// was inside. Other hosts may reach them before h does.
func (c *coordinator) noteLeftInside(h *host) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, g := range h.syncPoints {
		if g.rollout != nil && h.begunBefore(g.rollout.block) {
			g.rollout.rules.LeftInside(h.name)
		}
	}
}

// passRollout records that the block at op changes nothing on h, or that the rollout is not
// in force there; pass does so in the rules.
func (c *coordinator) passRollout(h *host, op int, pass func(*rollout.Rollout)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.recordUpTo(h, op, arrived)
	g := c.syncPoint(h, op, h.run.prog.Ops[op].Play)
	pass(g.rollout.rules)
	c.releaseWaiters(g)
}

// enterRollout waits for h's turn in the block at op.
func (c *coordinator) enterRollout(ctx context.Context, h *host, op int, e rollout.Entrant) error {
	c.mu.Lock()
	c.recordUpTo(h, op, arrived)
	g := c.syncPoint(h, op, h.run.prog.Ops[op].Play)
	r := g.rollout
	if r.rules.Stopped() {
		c.mu.Unlock()
		return r.stopped()
	}
	w := newWaiter(h, fmt.Sprintf("its turn in the rollout of %q (%s%d at a time)", r.block.Name, r.first, e.MaxParallel))
	r.rules.Wait(e)
	r.waiters[h.name] = w
	c.releaseWaiters(g)
	return c.await(ctx, w)
}

// leaveRollout takes h out of the block at op. leaveRollout returns an error when this failure stops
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
		untouched = "1 other host was not changed by it"
	} else if n > 1 {
		untouched = fmt.Sprintf("%d other hosts were not changed by it", n)
	}
	return fmt.Errorf("the rollout of %q has stopped: %s; %s", r.block.Name, cause, untouched)
}

// members returns the number of hosts of the block's rollout.
func (c *coordinator) members(h *host, b *program.Block) int {
	return len(c.syncPoint(h, b.Begin, h.run.prog.Ops[b.Begin].Play).members)
}
