package compile

import (
	"gopkg.in/yaml.v3"

	"deployer/engine/lang"
	"deployer/engine/program"
	"deployer/limit"
	"deployer/strictyaml"
)

// defaultParallel is the default of max_parallel, a tenth of the hosts: a mistake that no
// canary shows costs at most a tenth of the capacity.
var defaultParallel = limit.Limit{Percent: 10, Share: true}

// rawRollout holds the keys of rollout as written.
type rawRollout struct {
	When        yaml.Node   `yaml:"when"`
	Canary      []string    `yaml:"canary"`
	MaxParallel yaml.Node   `yaml:"max_parallel"`
	OneAtATime  []string    `yaml:"one_at_a_time"`
	MaxFail     limit.Limit `yaml:"max_fail"`
}

// rollout compiles the rollout of a block; nil when the block has none.
func (c *compiler) rollout(d *lang.Document, n *yaml.Node) *program.Rollout {
	if n.Kind == 0 {
		return nil
	}
	raw := rawRollout{}
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!null" { // an empty rollout: has the defaults
		if err := strictyaml.DecodeAs(d.Name, "rollout", n, &raw); err != nil {
			c.fail(err)
			return nil
		}
	}
	r := &program.Rollout{Pos: d.At(n), Canary: raw.Canary, OneAtATime: raw.OneAtATime, MaxFail: raw.MaxFail, Parallel: defaultParallel,
		When: c.conditions(d, &raw.When, "when")}
	if raw.Canary == nil {
		r.Canary = []string{"all"}
	}
	if raw.MaxParallel.Kind != 0 {
		limit, err := limit.Parse(raw.MaxParallel.Value)
		switch {
		case raw.MaxParallel.Kind != yaml.ScalarNode:
			c.fail(d.At(&raw.MaxParallel).Errorf("max_parallel: want a number of hosts, a share such as 10%%, or an expression"))
		case err == nil:
			r.Parallel = limit
		default:
			if r.ParallelExpr, err = lang.CompileExpr(raw.MaxParallel.Value, d.Origin(&raw.MaxParallel)); err != nil {
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

// checkRollout records errors for tasks that cannot stand in a block whose hosts take turns
// and may be restored.
func (c *compiler) checkRollout(b *program.Block) {
	if b.Throttle != nil {
		c.fail(b.Pos.Errorf("a block cannot have both throttle and rollout; use max_parallel of rollout"))
	}
	for p := b.Parent; p != nil; p = p.Parent {
		if p.Rollout != nil {
			c.fail(b.Rollout.Pos.Errorf("a rollout cannot be inside another rollout, at %s", p.Rollout.Pos))
		}
	}
	if b.Rescue > 0 {
		c.fail(b.Pos.Errorf("a block with rollout cannot have rescue: hosts on which it fails are restored; put a block with rescue inside"))
	}
	for i := b.Begin + 1; i < b.End; i++ {
		op := c.prog.Ops[i]
		switch {
		case op.Kind == program.OpTask && op.Task.RunOnce:
			c.fail(op.Task.Pos.Errorf("run_once cannot be inside a rollout: hosts inside would wait for hosts that may not enter"))
		case op.Kind == program.OpEndHost:
			c.fail(op.Ends.Pos.Errorf("meta: %s cannot be inside a rollout: a host leaves the rollout only when its checks have passed", op.Ends.Name))
		}
	}
}
