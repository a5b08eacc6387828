package compile

import (
	"cmp"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"deployer/engine/lang"
	"deployer/engine/program"
)

func (c *compiler) tasks(x taskContext, nodes []*yaml.Node) {
	for _, n := range nodes {
		if raw := c.readTask(x.doc, n); raw != nil {
			c.item(x, raw)
		} else {
			c.lost(n)
		}
	}
}

// item compiles one entry of a list of tasks.
func (c *compiler) item(x taskContext, raw *rawTask) {
	d := x.doc
	forms := raw.forms()
	if len(forms) == 0 {
		c.fail(d.At(raw.node).Errorf("the task does nothing: name a module, a block, include_role, include_tasks, include_vars or meta"))
		c.lost(raw.node)
		return
	}
	if len(forms) > 1 {
		c.fail(d.At(raw.node).Errorf("a task can be one thing only, and this one is %s and %s", forms[0], forms[1]))
		c.lost(raw.node)
		c.lostFile()
		return
	}
	if raw.module != nil { // a module may have the name of a keyword
		c.rejectKeywords(d, raw, "a task with a module", slices.Collect(maps.Keys(withoutBlocks(raw)))...)
		c.moduleItem(x, raw)
		return
	}
	switch forms[0] {
	case "block":
		c.blockItem(x, raw)
	case "include_role", "include_tasks":
		c.includeItem(x, raw, forms[0])
	case "include_vars":
		c.includeVars(x, raw)
	case "meta":
		c.metaItem(x, raw)
	}
}

func (c *compiler) metaItem(x taskContext, raw *rawTask) {
	d := x.doc
	allowed := []string{"name", "tags"}
	if raw.Meta == "end_host" || raw.Meta == "end_play" {
		allowed = append(allowed, "when", "vars")
	}
	if !c.rejectKeywords(d, raw, "meta: "+raw.Meta, append(allowed, "meta")...) || !c.started || !c.selected(slices.Concat(x.tags, c.tags(d, &raw.Tags))) {
		return
	}
	c.lockstep(x)
	if raw.Meta == "flush_handlers" {
		c.emit(program.Op{Kind: program.OpFlush, Play: x.play, Block: x.block})
		return
	}
	ends := &program.Block{Name: raw.Meta, Pos: d.At(raw.node), Parent: x.block,
		When: c.conditions(d, &raw.When, "when"), Scopes: x.with(c.compileScope(d, &raw.Vars, lang.TaskVars)).scopes}
	if raw.Meta == "end_play" {
		c.checkEndPlay(x, ends)
	}
	c.emit(program.Op{Kind: program.OpEndHost, Play: x.play, Block: x.block, Ends: ends})
}

// withoutBlocks returns the keywords of a task without those of blocks and handlers.
func withoutBlocks(raw *rawTask) map[string]*yaml.Node {
	out := map[string]*yaml.Node{}
	for word, key := range raw.set {
		if !slices.Contains([]string{"rescue", "always", "pre_tasks", "post_tasks", "listen"}, word) {
			out[word] = key
		}
	}
	return out
}

func (c *compiler) blockItem(x taskContext, raw *rawTask) {
	d := x.doc
	c.rejectKeywords(d, raw, "block", append(inheritable(), "name", "when", "throttle", "rollout", "pre_tasks", "post_tasks", "rescue",
		"always", "vars", "tags", "needs", "barrier", "label")...)
	name := raw.Name
	if name == "" {
		name = "block"
	}
	x = x.tagged(c.tags(d, &raw.Tags)).with(c.compileScope(d, &raw.Vars, lang.TaskVars)).inside(c.inheritedOf(d, raw.node, &raw.rawInherit))
	b := &program.Block{Name: name, Pos: d.At(raw.node), Parent: x.block, Scopes: x.scopes,
		When: c.conditions(d, &raw.When, "when"), Throttle: c.throttle(d, &raw.Throttle), Rollout: c.rollout(d, &raw.Rollout)}
	selected := c.selected(x.tags)
	if raw.Barrier && selected && c.started {
		c.barrier(x, d.At(raw.set["barrier"]))
	}
	if b.LimitsHosts() {
		c.lockstep(x)
	}
	c.need(x, d, &raw.Needs, &b.Needs)
	if b.Rollout != nil {
		c.rolloutBlock(x, b, raw)
		c.checkRollout(b)
	} else {
		c.rejectHooks(d, raw)
		c.block(x, b, pointers(raw.Block), pointers(raw.Rescue), pointers(raw.Always))
	}
	if raw.Label != "" && selected && c.started {
		c.label(x, raw.Label, d.At(raw.set["label"]))
	}
}

// block emits the operations of the body, the rescue and the always part of a block.
func (c *compiler) block(x taskContext, b *program.Block, body, rescue, always []*yaml.Node) {
	x.block = b
	b.Begin = c.emit(program.Op{Kind: program.OpBlock, Play: x.play, Block: b})
	c.tasks(x, body)
	if len(rescue) > 0 {
		b.Rescue = c.emit(program.Op{Kind: program.OpRescue, Play: x.play, Block: b})
		c.tasks(x, rescue)
	}
	if len(always) > 0 {
		b.Always = c.emit(program.Op{Kind: program.OpAlways, Play: x.play, Block: b})
		c.tasks(x, always)
	}
	b.End = c.emit(program.Op{Kind: program.OpEnd, Play: x.play, Block: b})
}

func pointers(nodes []yaml.Node) []*yaml.Node {
	out := make([]*yaml.Node, len(nodes))
	for i := range nodes {
		out[i] = &nodes[i]
	}
	return out
}

// includeItem compiles the tasks of an included role or file, as a block when the include
// has a condition; with a loop once for each item.
func (c *compiler) includeItem(x taskContext, raw *rawTask, form string) {
	d := x.doc
	c.rejectKeywords(d, raw, form, append(inheritable(), "name", "when", "vars", "tags", "loop", "loop_control")...)
	loop := c.loopOf(x, raw)
	if loop == nil && raw.Loop.Kind == 0 {
		c.include(x, raw, form, iteration{})
		return
	}
	var iterations []iteration
	known := false
	if loop == nil {
		loop = &program.Loop{Pos: d.At(&raw.Loop), Var: cmp.Or(raw.LoopControl.LoopVar, lang.ItemVar), IndexVar: raw.LoopControl.IndexVar}
	} else {
		iterations, known = c.unrollLoop(x, loop, form, raw.set["when"] != nil)
	}
	for _, t := range iterations {
		c.include(t.in(x, loop), raw, form, t)
	}
	if len(iterations) == 0 { // to report what is wrong in the tasks
		made := c.aside(x, func(x taskContext) {
			c.include(iteration{item: lang.PerHost(loop.Pos)}.in(x, loop), raw, form, iteration{})
		})
		for _, t := range made {
			for _, name := range t.Defines() {
				c.doubts.Names[name] = c.doubts.Names[name] || !known
			}
		}
	}
}

// include compiles an included role or file once; t is the iteration of its loop.
func (c *compiler) include(x taskContext, raw *rawTask, form string, t iteration) {
	d := x.doc
	x = x.inside(c.inheritedOf(d, raw.node, &raw.rawInherit))
	scope := c.params(d, &raw.Vars)
	when, tags := append(t.conditions(), c.conditions(d, &raw.When, "when")...), c.tags(d, &raw.Tags)
	pos := d.KeyPos(raw.node, form)
	if c.tooLarge(pos) {
		return
	}
	if form == "include_role" {
		c.useRole(x, roleUse{name: raw.IncludeRole, pos: pos, vars: scope, when: when, tags: tags, params: scope != nil, only: t.hosts})
		return
	}
	file := c.tasksFile(x, raw.IncludeTasks)
	shown := x.tree.DisplayPath(file)
	if slices.Contains(x.includes, shown) {
		c.fail(pos.Errorf("files include each other in a circle: %s", strings.Join(append(slices.Clone(x.includes), shown), " -> ")))
		c.lostFile()
		return
	}
	included := c.load(x.tree, file, pos).WithFiles(x.files)
	if included == nil {
		return
	}
	x = x.with(scope).tagged(tags)
	x.doc, x.here, x.includes = included, path.Dir(file), append(slices.Clip(x.includes), shown)
	nodes := c.list(included, included.Root, "tasks")
	if len(when) == 0 && t.hosts == nil {
		c.tasks(x, nodes)
		return
	}
	c.block(x, &program.Block{Name: raw.IncludeTasks, Pos: pos, Parent: x.block, When: when, Scopes: x.scopes, OnlyHosts: t.hosts}, nodes, nil, nil)
}

// tasksFile returns the included file: the one beside the including file, or else as seen
// from the playbook or the tasks of the role.
func (c *compiler) tasksFile(x taskContext, name string) string {
	if x.here != "" {
		near := lang.JoinPath(x.here, name)
		if tree, base, err := x.tree.Resolve(near, c.outside); err == nil {
			if _, err := fs.Stat(tree.FS, base); err == nil {
				return near
			}
		}
	}
	return lang.JoinPath(x.dir, name)
}
