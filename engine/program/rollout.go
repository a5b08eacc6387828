package program

import (
	"fmt"
	"slices"

	"deployer/engine/lang"
	"deployer/strictyaml"
)

// Rollout describes how a block changes hosts that are in use: canaries of each group
// first, then the other hosts, a limited number at a time. Hosts on which the block fails
// are restored.
type Rollout struct {
	Pos strictyaml.Pos
	// Name is unique in the program and stays the same when tasks are added to it. Hosts
	// remember by it that post_tasks are due.
	Name string
	// Body is the block that is previewed and restored: the block with the rollout itself,
	// or, when that has pre_tasks or post_tasks, the block between them.
	Body *Block
	When []*lang.Expr
	// Canary are groups; changed hosts of each go alone, in this order, before any other
	// host. "all" stands for all hosts of the play.
	Canary HostGroups
	// Canaries is the number of canaries of each group, without a share; 0 means none.
	Canaries HostLimit
	// OneAtATime are groups of which at most one host is in the block at a time.
	OneAtATime HostGroups
	// Critical are groups whose hosts stop the rollout when they fail.
	Critical HostGroups
	// MaxParallel is the maximum number of hosts in the block at a time.
	MaxParallel HostLimit
	// MaxFail is the number of hosts of the play that may fail after the canaries before
	// the rollout stops.
	MaxFail HostLimit
	// MaxUnavailable limits the hosts in the block that have the same value of an
	// expression.
	MaxUnavailable DomainLimits
	// Spread is an expression over whose values waiting hosts take turns; nil for none.
	Spread *lang.Expr
	// Pause are conditions under which the run stops after the canaries, until it is resumed.
	Pause []*lang.Expr
	// Steps computes the steps of the rollout; nil for none. See Block.Steps.
	Steps *lang.Value
	// Soak is the time after the change of a canary at whose end its gates must hold again.
	Soak Duration
	// RestoreIfLost is the time without controller after which a host inside of the block
	// restores itself; 0 means never.
	RestoreIfLost Duration
}

// HasHooks reports whether the rollout of the block has pre_tasks or post_tasks. The
// pre_tasks stand before Rollout.Body, and the post_tasks are the always part of the block.
func (b *Block) HasHooks() bool { return b.Rollout != nil && b.Rollout.Body != b }

// PostTasks reports whether an operation is in the post_tasks of the block.
func (b *Block) PostTasks(op int) bool { return b.HasHooks() && op > b.Always && op < b.End }

// AroundBody reports whether an operation is in the pre_tasks or post_tasks of the block.
func (b *Block) AroundBody(op int) bool {
	return b.HasHooks() && (op > b.Begin && op < b.Rollout.Body.Begin || b.PostTasks(op))
}

// TasksAroundRollouts returns the ids of the tasks in pre_tasks and post_tasks of all blocks.
func (p *Program) TasksAroundRollouts() map[string]bool {
	out := map[string]bool{}
	for _, op := range p.Ops {
		if op.Kind != OpBlock || !op.Block.HasHooks() {
			continue
		}
		b := op.Block
		for i := b.Begin + 1; i < b.End; i++ {
			if t := p.Ops[i].Task; t != nil && b.AroundBody(i) {
				out[t.ID] = true
			}
		}
	}
	return out
}

// InForce reports whether the rollout applies to a host. For other hosts the block is a
// block without rollout.
func (b *Block) InForce(vars *lang.Vars) (bool, error) {
	ok, _, err := lang.ConditionsHold(b.Rollout.When, b.Scopes, vars)
	return ok, err
}

// Text evaluates an expression of the rollout as a text; nil values are "".
func (b *Block) Text(e *lang.Expr, vars *lang.Vars) (string, error) {
	if e == nil {
		return "", nil
	}
	v, err := b.value(e, vars)
	if v == nil || err != nil {
		return "", err
	}
	return fmt.Sprint(v), nil
}

// value evaluates an expression of the rollout.
func (b *Block) value(e *lang.Expr, vars *lang.Vars) (any, error) {
	defer vars.PopTo(vars.Depth())
	if err := vars.PushScope(b.Scopes, e.Refs()); err != nil {
		return nil, err
	}
	return e.Eval(vars.Map())
}

// Computable returns the rollout without its pause, and without the expressions that known
// rejects; known gets the variables that an expression reads. A condition that is left out counts as true, a limit
// has its default, and of unknown groups one host goes at a time.
func (r *Rollout) Computable(known func(lang.Refs) bool) *Rollout {
	c := *r
	c.Pause = nil
	unknown := func(e *lang.Expr) bool { return e != nil && !known(e.Refs()) }
	c.When = slices.DeleteFunc(slices.Clone(r.When), unknown)
	for _, l := range []*HostLimit{&c.Canaries, &c.MaxParallel, &c.MaxFail} {
		if unknown(l.Expr) {
			l.Expr = nil
		}
	}
	for _, g := range []*HostGroups{&c.Canary, &c.OneAtATime} {
		if g.Value != nil && !known(g.Value.Refs()) {
			*g = HostGroups{Names: []string{"all"}}
		}
	}
	if c.Critical.Value != nil && !known(c.Critical.Value.Refs()) {
		c.Critical = HostGroups{}
	}
	if slices.ContainsFunc(r.MaxUnavailable.exprs(), unknown) {
		c.MaxUnavailable = DomainLimits{}
	}
	for _, d := range []*Duration{&c.Soak, &c.RestoreIfLost} {
		if unknown(d.Expr) {
			d.Expr = nil
		}
	}
	if unknown(r.Spread) {
		c.Spread = nil
	}
	if r.Steps != nil && !known(r.Steps.Refs()) {
		c.Steps = nil
	}
	return &c
}

// Exprs returns the expressions of the rollout that each host evaluates.
func (r *Rollout) Exprs() []*lang.Expr {
	out := slices.Clone(r.When)
	for _, e := range []*lang.Expr{r.MaxParallel.Expr, r.MaxFail.Expr, r.Spread, r.Soak.Expr, r.RestoreIfLost.Expr} {
		if e != nil {
			out = append(out, e)
		}
	}
	return append(out, r.MaxUnavailable.exprs()...)
}
