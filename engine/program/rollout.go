package program

import (
	"fmt"
	"slices"

	"deployer/engine/lang"
	"deployer/strictyaml"
)

// Rollout says how a block reaches hosts that are in use: a canary of each group
// first, then the rest, a limited number at a time, and what fails is restored.
type Rollout struct {
	Pos strictyaml.Pos
	// Canary are groups; one changed host of each goes alone, in this order,
	// before any other. "all" stands for all hosts of the play.
	Canary []string
	// OneAtATime are groups of which at most one host is in the block at once.
	OneAtATime []string
	// MaxFail is how many hosts, of those of the play, may fail after the
	// canaries before the rollout stops.
	MaxFail      Limit
	When         []*lang.Expr
	ParallelExpr *lang.Expr // nil for parallel
	Parallel     Limit
}

// InForce reports whether the rollout holds for a host; otherwise the block is
// like any other for it.
func (b *Block) InForce(vars *lang.Vars) (bool, error) {
	ok, _, err := lang.ConditionsHold(b.Rollout.When, b.Scopes, vars)
	return ok, err
}

// MaxParallel is how many of total hosts may be in the block at once; at least 1.
func (b *Block) MaxParallel(vars *lang.Vars, total int) (int, error) {
	limit := b.Rollout.Parallel
	if e := b.Rollout.ParallelExpr; e != nil {
		defer vars.PopTo(vars.Depth())
		if err := vars.PushScope(b.Scopes, e.Refs()); err != nil {
			return 0, err
		}
		v, err := e.Eval(vars.Map())
		if err == nil {
			limit, err = ParseLimit(fmt.Sprint(v))
		}
		if err != nil {
			return 0, e.Pos.Errorf("max_parallel %q: %v", e.Src, err)
		}
	}
	return max(limit.Of(total), 1), nil
}

// Computable returns the rollout with those of its expressions that known accepts,
// which is asked about the variables that each looks at. A condition that cannot be
// computed counts as one that holds, and max_parallel as its default.
func (r *Rollout) Computable(known func(lang.Refs) bool) *Rollout {
	c := *r
	c.When = slices.DeleteFunc(slices.Clone(r.When), func(e *lang.Expr) bool { return !known(e.Refs()) })
	if c.ParallelExpr != nil && !known(c.ParallelExpr.Refs()) {
		c.ParallelExpr = nil
	}
	return &c
}

// Exprs are the expressions of a rollout.
func (r *Rollout) Exprs() []*lang.Expr {
	out := r.When
	if r.ParallelExpr != nil {
		out = append(out[:len(out):len(out)], r.ParallelExpr)
	}
	return out
}
