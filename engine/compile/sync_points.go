package compile

import (
	"fmt"
	"maps"
	"slices"

	"gopkg.in/yaml.v3"

	"deployer/engine/graph"
	"deployer/engine/lang"
	"deployer/engine/program"
	"deployer/strictyaml"
)

type pendingNeed struct {
	name  string
	count int
	pos   strictyaml.Pos
	into  *[]program.Need
}

// barrier emits a wait for all hosts of the play. Inside of a throttled block it would be a
// deadlock: the hosts inside would wait for hosts that may not enter.
func (c *compiler) barrier(x taskContext, pos strictyaml.Pos) {
	if x.throttled() {
		c.fail(pos.Errorf("a barrier cannot be inside a block with throttle or rollout: hosts inside would wait for hosts that may not enter"))
		return
	}
	c.emit(program.Op{Kind: program.OpBarrier, Play: x.play, Block: x.block})
}

// lockstep emits the barrier of strategy: linear before a task, a throttled block, or the
// handlers. A throttled block is one step: inside, no host waits.
func (c *compiler) lockstep(x taskContext) {
	if !x.play.Linear || x.throttled() {
		return
	}
	if last := c.prog.Ops[len(c.prog.Ops)-1]; last.Kind != program.OpBarrier || last.Block != x.block {
		c.emit(program.Op{Kind: program.OpBarrier, Play: x.play, Block: x.block})
	}
}

func (c *compiler) label(x taskContext, name string, pos strictyaml.Pos) {
	if len(x.loops) > 0 {
		c.fail(pos.Errorf("label %q is inside a loop of an include, so it would exist more than once; put it after the include", name))
		return
	}
	if first := c.labels[name]; first != nil {
		c.fail(pos.Errorf("label %q exists already, at %s", name, first.Pos))
		return
	}
	l := &program.Label{Name: name, Index: len(c.prog.Labels), Play: x.play, Pos: pos}
	l.Op = c.emit(program.Op{Kind: program.OpLabel, Play: x.play, Label: l, Block: x.block})
	c.labels[name] = l
	c.prog.Labels = append(c.prog.Labels, l)
}

// need reads `needs`: a label, or a list of labels or of {label, count}.
func (c *compiler) need(x taskContext, d *lang.Document, n *yaml.Node, into *[]program.Need) {
	if n.Kind == 0 || n.ShortTag() == "!!null" {
		return
	}
	entries := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		entries = n.Content
	}
	for _, e := range entries {
		p := pendingNeed{name: e.Value, pos: d.At(e), into: into}
		if e.Kind != yaml.ScalarNode {
			var raw struct {
				Label string `yaml:"label" required:"true"`
				Count int    `yaml:"count"`
			}
			if err := strictyaml.DecodeAs(d.Name, "needs", e, &raw); err != nil {
				c.fail(err)
				continue
			}
			p.name, p.count, p.pos = raw.Label, raw.Count, d.KeyPos(e, "label")
		}
		if p.count < 0 {
			c.fail(p.pos.Errorf("count cannot be negative; leave it out to wait for all hosts"))
			continue
		}
		c.needs = append(c.needs, p)
	}
}

// resolveNeeds connects needs with labels once all labels are known.
func (c *compiler) resolveNeeds() {
	for _, p := range c.needs {
		l := c.labels[p.name]
		if l != nil {
			*p.into = append(*p.into, program.Need{Label: l, Count: p.count, Pos: p.pos})
			continue
		}
		if len(c.lib.Tags) > 0 || len(c.lib.SkipTags) > 0 || c.lib.StartAt != "" {
			continue // the labelled task may have been left out
		}
		c.fail(p.pos.Errorf("needs: no task has the label %q%s", p.name, strictyaml.Hint(p.name, slices.Collect(maps.Keys(c.labels)))))
	}
}

// checkWaits finds needs that can never be met, because the label comes after them on the
// same hosts. Waits that depend on conditions, or on a number of hosts across plays, are
// left to the run, which reports a deadlock.
func (c *compiler) checkWaits() {
	g := graph.New[string]()
	point := func(i int) string { return fmt.Sprintf("%d", i) }
	last := map[*program.Play]int{}
	for i, op := range c.prog.Ops {
		if before, ok := last[op.Play]; ok {
			g.AddEdge(point(before), point(i))
		}
		last[op.Play] = i
		for _, n := range unconditionalNeeds(op) {
			if n.Label.Play == op.Play || n.Count == 0 {
				g.AddEdge(point(n.Label.Op), point(i))
			}
		}
	}
	c.chainPlays(g, point)
	cycle := g.Cycle()
	if cycle == nil {
		return
	}
	for i, op := range c.prog.Ops {
		if !slices.Contains(cycle, point(i)) {
			continue
		}
		for _, n := range unconditionalNeeds(op) {
			if slices.Contains(cycle, point(n.Label.Op)) {
				c.fail(n.Pos.Errorf("deadlock: this task waits for label %q at %s, which comes only after this task", n.Label.Name, n.Label.Pos))
			}
		}
	}
}

// chainPlays adds an edge from a play to a later one with which it shares hosts.
func (c *compiler) chainPlays(g *graph.Graph[string], point func(int) string) {
	if c.lib.Match == nil {
		return
	}
	hosts := make([][]string, len(c.prog.Plays))
	for i, p := range c.prog.Plays {
		hosts[i], _ = c.lib.Match(p.Hosts)
		for j := range i {
			if slices.ContainsFunc(hosts[j], func(h string) bool { return slices.Contains(hosts[i], h) }) {
				g.AddEdge(point(c.prog.Plays[j].End), point(p.Begin))
			}
		}
	}
}

func unconditionalNeeds(op program.Op) []program.Need {
	for b := op.Block; b != nil; b = b.Parent {
		if len(b.When) > 0 || b.OnlyHosts != nil {
			return nil
		}
	}
	switch {
	case op.Kind == program.OpTask && len(op.Task.When) == 0:
		return op.Task.Needs
	case op.Kind == program.OpBlock:
		return op.Block.Needs
	}
	return nil
}
