package revert

import (
	"slices"

	"deployer/engine/lang"
	"deployer/engine/program"
)

// section is a part of the program that hosts execute as one unit: a play, or a block in it in which
// hosts take turns. Other blocks are dissolved: their tasks are in the section, with
// the conditions of the blocks.
type section struct {
	block *program.Block // nil for a play
	up    *section
	nodes []node
}

// node is an element of a section. Exactly one field is set, besides kind and when.
type node struct {
	kind    program.OpKind // OpTask, OpBlock, OpBarrier, OpLabel, OpFlush; opNeeds
	task    *program.Task
	section *section // of OpBlock
	label   *program.Label
	needs   []program.Need
	when    []*lang.Expr // conditions of the blocks around
	// rescue is true for tasks that run only after a failure.
	rescue bool
}

// opNeeds is the wait of a task or block for labels, before it.
const opNeeds program.OpKind = -1

// readSection returns the section of a play.
func readSection(prog *program.Program, p *program.Play) *section {
	root := &section{}
	r := &reader{at: root}
	for i := p.Begin + 1; i < p.End; i++ {
		r.read(i, prog.Ops[i])
	}
	return root
}

// reader builds sections from the operations of a play.
type reader struct {
	at     *section
	blocks []*program.Block // enclosing, the innermost last
	when   []*lang.Expr
}

func (r *reader) read(i int, op program.Op) {
	if slices.ContainsFunc(r.blocks, func(b *program.Block) bool { return b.AroundBody(i) }) {
		return // repeatHooks repeats it as it is
	}
	switch op.Kind {
	case program.OpBarrier, program.OpFlush, program.OpLabel:
		r.add(node{kind: op.Kind, label: op.Label})
	case program.OpTask:
		if len(op.Task.Needs) > 0 {
			r.add(node{kind: opNeeds, needs: op.Task.Needs})
		}
		r.add(node{kind: op.Kind, task: op.Task, when: slices.Clip(r.when), rescue: r.rescuing(i)})
	case program.OpBlock:
		r.enter(op.Block)
	case program.OpEnd:
		r.blocks = r.blocks[:len(r.blocks)-1]
		r.when = r.when[:len(r.when)-len(op.Block.When)]
		if op.Block.LimitsHosts() {
			r.at = r.at.up
		}
	}
}

func (r *reader) enter(b *program.Block) {
	if len(b.Needs) > 0 {
		r.add(node{kind: opNeeds, needs: b.Needs})
	}
	r.blocks = append(r.blocks, b)
	r.when = append(slices.Clip(r.when), b.When...)
	if b.LimitsHosts() {
		inner := &section{block: b, up: r.at}
		r.add(node{kind: program.OpBlock, section: inner})
		r.at = inner
	}
}

func (r *reader) add(n node) { r.at.nodes = append(r.at.nodes, n) }

// rescuing reports whether an operation is in the rescue part of a block.
func (r *reader) rescuing(i int) bool {
	return slices.ContainsFunc(r.blocks, func(b *program.Block) bool {
		return b.Rescue > 0 && i > b.Rescue && (b.Always == 0 || i < b.Always)
	})
}

// tasks returns the tasks of the section and of the sections in it.
func (p *section) tasks() []*program.Task {
	var out []*program.Task
	for _, n := range p.nodes {
		switch n.kind {
		case program.OpTask:
			out = append(out, n.task)
		case program.OpBlock:
			out = append(out, n.section.tasks()...)
		}
	}
	return out
}

// sectionOf returns the innermost section that contains a task.
func (p *section) sectionOf(t *program.Task) *section {
	for _, n := range p.nodes {
		if n.task == t {
			return p
		}
		if n.section != nil {
			if inner := n.section.sectionOf(t); inner != nil {
				return inner
			}
		}
	}
	return nil
}
