package playbook

import (
	"fmt"
	"slices"

	"gopkg.in/yaml.v3"

	"deployer/strictyaml"
)

// Rollout says how a block reaches hosts that are in use: a canary of each group
// first, then the rest, a limited number at a time, and what fails is put back.
type Rollout struct {
	Pos strictyaml.Pos
	// Canary are groups; one changed host of each goes alone, in this order,
	// before any other. "all" stands for all hosts of the play.
	Canary []string
	// OneAtATime are groups of which at most one host is in the block at once.
	OneAtATime []string
	// MaxFail is how many hosts, of those of the play, may fail after the
	// canaries before the rollout stops.
	MaxFail Limit
	when    []*Expr
	max     *Expr // nil for parallel
	fixed   Limit
}

// defaultParallel is how many hosts of a play a rollout changes at once, where it
// does not say: a tenth, so that a mistake that no canary shows costs a tenth of
// the capacity at most.
var defaultParallel = Limit{Percent: 10, Share: true}

// rawRollout are the keys of rollout as written.
type rawRollout struct {
	When        yaml.Node `yaml:"when"`
	Canary      []string  `yaml:"canary"`
	MaxParallel yaml.Node `yaml:"max_parallel"`
	OneAtATime  []string  `yaml:"one_at_a_time"`
	MaxFail     Limit     `yaml:"max_fail"`
}

// rollout compiles the rollout of a block; nil when it has none.
func (c *compiler) rollout(d *document, n *yaml.Node) *Rollout {
	if n.Kind == 0 {
		return nil
	}
	raw := rawRollout{}
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!null" { // rollout: alone has the defaults
		if err := strictyaml.DecodeAs(d.name, "rollout", n, &raw); err != nil {
			c.fail(err)
			return nil
		}
	}
	r := &Rollout{Pos: d.at(n), Canary: raw.Canary, OneAtATime: raw.OneAtATime, MaxFail: raw.MaxFail, fixed: defaultParallel,
		when: c.conditions(d, &raw.When, "when")}
	if raw.Canary == nil {
		r.Canary = []string{"all"}
	}
	if raw.MaxParallel.Kind != 0 {
		limit, err := ParseLimit(raw.MaxParallel.Value)
		switch {
		case raw.MaxParallel.Kind != yaml.ScalarNode:
			c.fail(d.at(&raw.MaxParallel).Errorf("max_parallel: want a number of hosts, a share such as 10%%, or an expression"))
		case err == nil:
			r.fixed = limit
		default:
			if r.max, err = compileExpr(raw.MaxParallel.Value, d.origin(&raw.MaxParallel)); err != nil {
				c.fail(err)
			}
		}
	}
	for _, group := range append(r.Canary, r.OneAtATime...) {
		if c.lib.Match == nil || group == "all" {
			continue
		}
		if _, err := c.lib.Match(group); err != nil {
			c.fail(r.Pos.Errorf("rollout: group %q: %v", group, err))
		}
	}
	return r
}

// checkRollout refuses what cannot stand in a block that hosts enter in turns and
// may have to leave the way they came.
func (c *compiler) checkRollout(b *Block) {
	if b.Throttle != nil {
		c.fail(b.Pos.Errorf("a block has throttle or rollout; max_parallel of rollout is its throttle"))
	}
	for p := b.Parent; p != nil; p = p.Parent {
		if p.Rollout != nil {
			c.fail(b.Rollout.Pos.Errorf("a rollout cannot stand inside another one, at %s", p.Rollout.Pos))
		}
	}
	if b.Rescue > 0 {
		c.fail(b.Pos.Errorf("a block with rollout has no rescue: what fails in it is put back; a block inside of it may have one"))
	}
	for i := b.Begin + 1; i < b.End; i++ {
		op := c.prog.Ops[i]
		switch {
		case op.Kind == OpTask && op.Task.RunOnce:
			c.fail(op.Task.Pos.Errorf("run_once cannot stand inside a rollout: hosts inside would wait for hosts that may not enter"))
		case op.Kind == OpEndHost:
			c.fail(op.Ends.Pos.Errorf("meta: %s cannot stand inside a rollout: a host leaves it when its checks went well", op.Ends.Name))
		}
	}
}

// InForce reports whether the rollout holds for a host; otherwise the block is
// like any other for it.
func (b *Block) InForce(vars *Vars) (bool, error) {
	ok, _, err := conditionsHold(b.Rollout.when, b.Scopes, b.refs, vars)
	return ok, err
}

// MaxParallel is how many of total hosts may be in the block at once; at least 1.
func (b *Block) MaxParallel(vars *Vars, total int) (int, error) {
	limit := b.Rollout.fixed
	if e := b.Rollout.max; e != nil {
		defer vars.PopTo(vars.Depth())
		if err := vars.PushScope(b.Scopes, e.refs); err != nil {
			return 0, err
		}
		v, err := e.Eval(vars.values)
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
func (r *Rollout) Computable(known func(Refs) bool) *Rollout {
	c := *r
	c.when = slices.DeleteFunc(slices.Clone(r.when), func(e *Expr) bool { return !known(e.refs) })
	if c.max != nil && !known(c.max.refs) {
		c.max = nil
	}
	return &c
}

// exprs are the expressions of a rollout.
func (r *Rollout) exprs() []*Expr {
	out := r.when
	if r.max != nil {
		out = append(out[:len(out):len(out)], r.max)
	}
	return out
}
