package program

import (
	"fmt"
	"slices"

	"deployer/engine/lang"
	"deployer/limit"
	"deployer/strictyaml"
)

// Rollout describes how a block changes hosts that are in use: a canary of each group
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
	// Canary are groups; one changed host of each goes alone, in this order, before any
	// other host. "all" stands for all hosts of the play.
	Canary []string
	// OneAtATime are groups of which at most one host is in the block at a time.
	OneAtATime []string
	// MaxFail is the number of hosts of the play that may fail after the canaries before
	// the rollout stops.
	MaxFail      limit.Limit
	When         []*lang.Expr
	ParallelExpr *lang.Expr // ParallelExpr computes the maximum number of hosts in the block at a time; nil when Parallel has it.
	Parallel     limit.Limit
}

// HasHooks reports whether the rollout of the block has pre_tasks or post_tasks. The
// pre_tasks stand before Rollout.Body, and the post_tasks are the always part of the block.
func (b *Block) HasHooks() bool { return b.Rollout != nil && b.Rollout.Body != b }

// PostTasks reports whether an operation is in the post_tasks of the block.
func (b *Block) PostTasks(op int) bool { return b.HasHooks() && op > b.Always && op < b.End }

// InForce reports whether the rollout applies to a host. For other hosts the block is a
// block without rollout.
func (b *Block) InForce(vars *lang.Vars) (bool, error) {
	ok, _, err := lang.ConditionsHold(b.Rollout.When, b.Scopes, vars)
	return ok, err
}

// MaxParallel returns the maximum number of hosts, of total, in the block at a time; at
// least 1.
func (b *Block) MaxParallel(vars *lang.Vars, total int) (int, error) {
	bound := b.Rollout.Parallel
	if e := b.Rollout.ParallelExpr; e != nil {
		defer vars.PopTo(vars.Depth())
		if err := vars.PushScope(b.Scopes, e.Refs()); err != nil {
			return 0, err
		}
		v, err := e.Eval(vars.Map())
		if err == nil {
			bound, err = limit.Parse(fmt.Sprint(v))
		}
		if err != nil {
			return 0, e.Pos.Errorf("max_parallel %q: %v", e.Src, err)
		}
	}
	return max(bound.Of(total), 1), nil
}

// Computable returns the rollout without the expressions that known rejects; known gets the
// variables that an expression reads. A condition that is left out counts as true, and
// max_parallel has its default.
func (r *Rollout) Computable(known func(lang.Refs) bool) *Rollout {
	c := *r
	c.When = slices.DeleteFunc(slices.Clone(r.When), func(e *lang.Expr) bool { return !known(e.Refs()) })
	if c.ParallelExpr != nil && !known(c.ParallelExpr.Refs()) {
		c.ParallelExpr = nil
	}
	return &c
}

// Exprs returns the expressions of the rollout.
func (r *Rollout) Exprs() []*lang.Expr {
	out := r.When
	if r.ParallelExpr != nil {
		out = append(out[:len(out):len(out)], r.ParallelExpr)
	}
	return out
}
