package compile

import (
	"fmt"
	"slices"

	"gopkg.in/yaml.v3"

	"deployer/engine/lang"
	"deployer/engine/program"
	"deployer/limit"
	"deployer/strictyaml"
)

// rawRollout holds the keys of rollout as written.
type rawRollout struct {
	When           yaml.Node `yaml:"when"`
	Canary         yaml.Node `yaml:"canary"`
	Canaries       yaml.Node `yaml:"canaries"`
	Critical       yaml.Node `yaml:"critical"`
	MaxParallel    yaml.Node `yaml:"max_parallel"`
	OneAtATime     yaml.Node `yaml:"one_at_a_time"`
	MaxFail        yaml.Node `yaml:"max_fail"`
	MaxUnavailable yaml.Node `yaml:"max_unavailable"`
	Spread         yaml.Node `yaml:"spread"`
	Soak           yaml.Node `yaml:"soak"`
	RestoreIfLost  yaml.Node `yaml:"restore_if_lost"`
	Pause          yaml.Node `yaml:"pause"`
	Steps          yaml.Node `yaml:"steps"`
}

// rawDomainLimit holds the keys of one limit of max_unavailable as written.
type rawDomainLimit struct {
	By    yaml.Node `yaml:"by" required:"true"`
	Limit yaml.Node `yaml:"limit" required:"true"`
}

// rollout compiles the rollout of a block; nil when the block has none.
func (c *compiler) rollout(d *lang.Document, n *yaml.Node) *program.Rollout {
	if n.Kind == 0 {
		return nil
	}
	raw := rawRollout{}
	if !isNull(n) { // an empty rollout: has the defaults
		if err := strictyaml.DecodeAs(d.Name, "rollout", n, &raw); err != nil {
			c.fail(err)
			return nil
		}
	}
	r := &program.Rollout{Pos: d.At(n), When: c.conditions(d, &raw.When, "when"),
		Canary:     c.hostGroups(d, &raw.Canary, "canary"),
		Canaries:   c.hostLimit(d, &raw.Canaries, "canaries", limit.Limit{Count: 1}),
		OneAtATime: c.hostGroups(d, &raw.OneAtATime, "one_at_a_time"),
		Critical:   c.hostGroups(d, &raw.Critical, "critical"),

		MaxParallel: c.hostLimit(d, &raw.MaxParallel, "max_parallel", limit.DefaultParallel()),
		MaxFail:     c.hostLimit(d, &raw.MaxFail, "max_fail", limit.Limit{}),
		Spread:      c.rolloutExpr(d, &raw.Spread, "spread"),
		Pause:       c.conditions(d, &raw.Pause, "pause"),
		Soak:        c.duration(d, &raw.Soak, "soak"),

		RestoreIfLost: c.duration(d, &raw.RestoreIfLost, "restore_if_lost"),
	}
	if raw.Canary.Kind == 0 {
		r.Canary.Names = []string{"all"}
	}
	if r.Canaries.Expr == nil && r.Canaries.Default.Share {
		c.fail(d.At(&raw.Canaries).Errorf("canaries: want a number of hosts of each group, or an expression"))
	}
	r.MaxUnavailable = c.domainLimits(d, &raw.MaxUnavailable, "max_unavailable")
	r.Steps = c.rolloutSteps(d, &raw.Steps)
	return r
}

// rolloutSteps compiles the steps of a rollout: a list, or an expression that gives one.
func (c *compiler) rolloutSteps(d *lang.Document, n *yaml.Node) *lang.Value {
	if isNull(n) {
		return nil
	}
	out, err := lang.CompileValue(d, n)
	if err != nil {
		c.fail(err)
		return nil
	}
	if len(out.Refs().Names()) > 0 || n.Kind == yaml.ScalarNode {
		return out
	}
	v, err := out.Eval(nil)
	if err != nil {
		c.fail(err)
		return nil
	}
	steps, err := program.ParseSteps(v)
	if err != nil {
		c.fail(d.At(n).Errorf("rollout: steps%v", err))
	}
	for _, groups := range steps {
		for _, g := range groups {
			for _, name := range g.Hosts {
				if c.lib.Match == nil || name == "all" {
					continue
				}
				if _, err := c.lib.Match(name); err != nil {
					c.fail(d.At(n).Errorf("rollout: steps: group %q: %v", name, err))
				}
			}
		}
	}
	return out
}

// domainLimits compiles a mapping with by and limit, a list of them, or an expression that
// gives such a list.
func (c *compiler) domainLimits(d *lang.Document, n *yaml.Node, key string) program.DomainLimits {
	items := []*yaml.Node{n}
	switch {
	case isNull(n):
		return program.DomainLimits{}
	case n.Kind == yaml.ScalarNode:
		return program.DomainLimits{Expr: c.rolloutExpr(d, n, key)}
	case n.Kind == yaml.SequenceNode:
		items = n.Content
	}
	var out program.DomainLimits
	for _, item := range items {
		raw := rawDomainLimit{}
		if err := strictyaml.DecodeAs(d.Name, key, item, &raw); err != nil {
			c.fail(err)
			continue
		}
		one := program.DomainLimit{By: c.rolloutExpr(d, &raw.By, "by"), Limit: c.hostLimit(d, &raw.Limit, "limit", limit.Limit{Count: 1})}
		if one.By != nil { // otherwise the error is recorded
			out.List = append(out.List, one)
		}
	}
	return out
}

// hostLimit compiles a number of hosts, a share or an expression; missing values are other.
func (c *compiler) hostLimit(d *lang.Document, n *yaml.Node, key string, other limit.Limit) program.HostLimit {
	if isNull(n) {
		return program.HostLimit{Default: other}
	}
	if n.Kind != yaml.ScalarNode {
		c.fail(d.At(n).Errorf("%s: want a number of hosts, a share such as 10%%, or an expression", key))
		return program.HostLimit{Default: other}
	}
	if l, err := limit.Parse(n.Value); err == nil {
		return program.HostLimit{Default: l}
	}
	return program.HostLimit{Default: other, Expr: c.rolloutExpr(d, n, key)}
}

// duration compiles a duration or an expression that gives one; 0 when there is none.
func (c *compiler) duration(d *lang.Document, n *yaml.Node, key string) program.Duration {
	if n.Kind == yaml.ScalarNode {
		out, err := program.ParseDuration(n.Value)
		if err == nil {
			return program.Duration{Default: out}
		}
		if tag := n.ShortTag(); tag == "!!int" || tag == "!!float" {
			c.fail(d.At(n).Errorf("%s: %v", key, err))
			return program.Duration{}
		}
	}
	return program.Duration{Expr: c.rolloutExpr(d, n, key)}
}

// rolloutExpr compiles an expression; nil when there is none or it is wrong.
func (c *compiler) rolloutExpr(d *lang.Document, n *yaml.Node, key string) *lang.Expr {
	if isNull(n) {
		return nil
	}
	if n.Kind != yaml.ScalarNode {
		c.fail(d.At(n).Errorf("%s: want an expression", key))
		return nil
	}
	e, err := lang.CompileExpr(n.Value, d.Origin(n))
	if err != nil {
		c.fail(err)
		return nil
	}
	return e
}

// hostGroups compiles a group or pattern, or a list of them; they may contain {{ }}.
func (c *compiler) hostGroups(d *lang.Document, n *yaml.Node, key string) program.HostGroups {
	g := program.HostGroups{}
	for _, t := range c.texts(d, n, key) {
		g.Names = append(g.Names, t.Value)
		if lang.IsTemplate(t.Value) {
			value, err := lang.CompileValue(d, n)
			c.fail(err)
			return program.HostGroups{Value: value}
		}
		if c.lib.Match == nil || t.Value == "all" {
			continue
		}
		if _, err := c.lib.Match(t.Value); err != nil {
			c.fail(d.At(t).Errorf("rollout: %s: group %q: %v", key, t.Value, err))
		}
	}
	return g
}

// isNull reports whether a node is missing or null.
func isNull(n *yaml.Node) bool {
	return n.Kind == 0 || n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null"
}

// rolloutBlock emits a block with rollout. With pre_tasks or post_tasks the tasks that the
// rollout previews and restores are a block of their own inside.
func (c *compiler) rolloutBlock(x taskContext, b *program.Block, raw *rawTask) {
	b.Rollout.Body, b.Rollout.Name = b, c.rolloutName(b.Name)
	if len(raw.PreTasks)+len(raw.PostTasks) == 0 {
		c.block(x, b, pointers(raw.Block), pointers(raw.Rescue), pointers(raw.Always))
		return
	}
	x.block = b
	// Hosts that a tag of the block's tasks brings into the block need its hooks too.
	hooks := x.tagged([]string{"always"})
	b.Begin = c.emit(program.Op{Kind: program.OpBlock, Play: x.play, Block: b})
	c.tasks(hooks, pointers(raw.PreTasks))
	atPreTask := c.started
	body := &program.Block{Name: b.Name, Pos: b.Pos, Parent: b, Scopes: b.Scopes}
	b.Rollout.Body = body
	c.block(x, body, pointers(raw.Block), pointers(raw.Rescue), pointers(raw.Always))
	if !atPreTask && c.started && len(raw.PreTasks) > 0 {
		c.fail(b.Pos.Errorf("the run cannot start at %q: pre_tasks of this rollout would be left out; start at the first of them", c.lib.StartAt))
	}
	b.Always = c.emit(program.Op{Kind: program.OpAlways, Play: x.play, Block: b})
	c.tasks(hooks, pointers(raw.PostTasks))
	b.End = c.emit(program.Op{Kind: program.OpEnd, Play: x.play, Block: b})
}

// rolloutName returns a name for a rollout that is unique in the program and the same when
// tasks are added to the playbook.
func (c *compiler) rolloutName(block string) string {
	name := c.prog.Name + "/rollout/" + block
	c.rollouts[name]++
	if n := c.rollouts[name]; n > 1 {
		name += fmt.Sprintf("#%d", n)
	}
	return name
}

// rejectHooks records an error for pre_tasks and post_tasks of a block without rollout.
func (c *compiler) rejectHooks(d *lang.Document, raw *rawTask) {
	for _, word := range []string{"pre_tasks", "post_tasks"} {
		if key := raw.set[word]; key != nil {
			c.fail(d.At(key).Errorf("%s of a block need rollout, which decides when a host has its turn; without it, use a block around this one, with always", word))
		}
	}
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
	if b.Rollout.Body.Rescue > 0 {
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

// checkHookVars records errors for tasks of a rollout that read what its pre_tasks set: the
// preview executes these tasks without the pre_tasks.
func (c *compiler) checkHookVars() {
	for i, op := range c.prog.Ops {
		b := op.Block
		if op.Kind != program.OpBlock || b.Rollout == nil || !b.HasHooks() {
			continue
		}
		body := b.Rollout.Body
		for _, pre := range c.prog.Ops[i+1 : body.Begin] {
			if pre.Kind != program.OpTask {
				continue
			}
			for _, name := range pre.Task.Defines() {
				if c.prog.Definers[name] != pre.Task.Pos {
					continue
				}
				if pos, ok := c.readerOf(name, body); ok {
					c.fail(pos.Errorf("%s is set by pre_tasks at %s, which have not run when a host checks whether the rollout would change it; set it before the block, or read it in post_tasks", name, pre.Task.Pos))
				}
			}
		}
	}
}

// readerOf returns the place of the first task or block inside of b that reads a variable.
func (c *compiler) readerOf(name string, b *program.Block) (strictyaml.Pos, bool) {
	reads := func(refs lang.Refs) bool { return slices.Contains(refs.Names(), name) }
	for _, op := range c.prog.Ops[b.Begin+1 : b.End] {
		switch {
		case op.Kind == program.OpTask && reads(op.Task.Refs()):
			return op.Task.Pos, true
		case op.Kind == program.OpBlock && reads(op.Block.Refs()):
			return op.Block.Pos, true
		}
	}
	return strictyaml.Pos{}, false
}
