package revert

import (
	"slices"

	"deployer/engine/lang"
	"deployer/engine/program"
)

// namesOf returns the variables that tasks of a program register or set, and those
// of them that read-only tasks can register again without variables of the run.
func namesOf(prog *program.Program) (own, asked map[string]bool) {
	own, asked = map[string]bool{}, map[string]bool{}
	for _, t := range prog.AllTasks() {
		for _, name := range t.Defines() {
			own[name] = true
		}
	}
	for _, p := range prog.Plays {
		readOnlyTasks(readSection(prog, p), own, asked, func(n node) {
			for _, name := range n.task.Defines() {
				asked[name] = true
			}
		}, func() {})
	}
	return own, asked
}

// readOnlyTasks calls each for the read-only tasks of a section that can be
// repeated, and barrier at each barrier.
func readOnlyTasks(p *section, own, asked map[string]bool, each func(node), barrier func()) {
	for _, n := range p.nodes {
		switch {
		case n.kind == program.OpBarrier:
			barrier()
		case n.kind == program.OpBlock:
			readOnlyTasks(n.section, own, asked, each, barrier)
		case n.kind == program.OpTask && !n.rescue && n.task.ReadOnly() && n.task.Until == nil && isRepeatable(n, own, asked):
			each(n)
		}
	}
}

// isRepeatable reports whether a task uses only variables that can be computed
// again.
func isRepeatable(n node, own, asked map[string]bool) bool {
	all := []lang.Refs{n.task.Refs(), n.task.AfterRefs()}
	for _, e := range n.when {
		all = append(all, n.task.Closure(e.Refs()))
	}
	for _, refs := range all {
		for _, name := range refs.Names() {
			if own[name] && !asked[name] && !slices.Contains(n.task.Defines(), name) {
				return false
			}
		}
	}
	return true
}

// requery emits the read-only tasks, in the order of the run. A failure is ignored,
// as the run may have broken something. Each play waits for the answers of the one
// before, because a decision for all hosts needs those of all; the steps that waited
// for them in the run may be left out here.
func (b *builder) requery() {
	for i, p := range b.prog.Plays {
		b.open(p, "read again: "+p.Name, nil)
		b.first = i > 0
		readOnlyTasks(readSection(b.prog, p), b.own, b.asked, func(n node) {
			t := n.task.WithConditions(append(n.when[:len(n.when):len(n.when)], n.task.When...))
			t.IgnoreErrors, t.Notify, t.Needs, t.Throttle = true, nil, nil, nil
			b.barrier = b.barrier || t.RunOnce
			b.task(t)
		}, func() { b.barrier = true })
		b.close()
	}
}
