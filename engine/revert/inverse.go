package revert

import (
	"maps"
	"slices"

	"deployer/engine"
	"deployer/engine/lang"
	"deployer/engine/program"
)

// Options describe the run to revert.
type Options struct {
	// Run is the run whose changes are reverted.
	Run string
	// Force also restores resources that were changed after the run.
	Force bool
	// History has the records of hosts about the run. Without it (nil) the inverse has every task on
	// every host, as for reverting a revert.
	History map[string]engine.RunHistory
	// Log is the log of the run; nil when there is none.
	Log Log
}

// Log reports what happened to the tasks of a run.
type Log interface {
	// Skipped reports whether a task was skipped on a host; its gate is skipped too.
	Skipped(host, task string) bool
	// Ran reports whether a task was begun on a host. Ran is called for actions, which
	// hosts do not record.
	Ran(host, task string) bool
}

// Inverted is the inverse of a program.
type Inverted struct {
	Program *program.Program
	// Everyone is true when all hosts of the program are needed, because the inverse
	// begins with read-only tasks.
	Everyone bool
	// Due are the hosts on which the run has begun a rollout whose post_tasks are due.
	Due map[string]bool
	// LeftOut names gates and handlers that cannot be repeated, with the reason.
	LeftOut []string
}

// Inverse returns the program that restores what a run of prog has changed.
func Inverse(prog *program.Program, o Options) (*Inverted, error) {
	b := newBuilder(prog, o)
	b.build()
	if b.asks {
		// Whether variables are needed is known only now, and their tasks come first.
		second := newBuilder(prog, o)
		second.requery()
		second.build()
		second.asks = true
		b = second
	}
	if b.err != nil {
		return nil, b.err
	}
	return &Inverted{Program: b.out, Everyone: b.asks, Due: b.history.dueHosts(), LeftOut: b.leftOut}, nil
}

func (b *builder) build() {
	for _, p := range slices.Backward(b.prog.Plays) {
		b.invertPlay(p)
	}
	b.emitRemainder()
}

func (b *builder) invertPlay(p *program.Play) {
	root := readSection(b.prog, p)
	b.from = p
	b.open(p, nameOf(p), p.Serial)
	b.repeatHandlers(p, root)
	b.invertSection(root)
	b.close()
}

// invertSection emits the steps of a section in reverse, and then its gates.
func (b *builder) invertSection(p *section) {
	outer := b.at
	b.at = p
	flushed := false
	for _, n := range slices.Backward(p.nodes) {
		switch n.kind {
		case program.OpBarrier:
			b.barrier = true
		case program.OpFlush:
			if !flushed {
				for _, h := range slices.Backward(b.from.Handlers) {
					b.undo(h, false)
				}
			}
			flushed = true
		case program.OpTask:
			b.undo(n.task, false)
		case program.OpBlock:
			b.invertBlock(n.section)
		case program.OpLabel:
			b.waits.reach(n.label, p)
		case opNeeds:
			b.passed(n.needs)
		}
	}
	b.emitGates(p)
	b.at = outer
}

// invertBlock inverts a block in which hosts take turns; they take turns through the
// inverse too, with a canary if the block had one.
func (b *builder) invertBlock(p *section) {
	only := b.hostsIn(p)
	if only != nil && len(only) == 0 {
		return
	}
	block := *p.block
	block.When, block.Parent, block.Rescue, block.Always, block.OnlyHosts = nil, b.block, 0, 0, only
	block.Needs = b.waits.take()
	block.Throttle = b.throttle(block.Throttle)
	block.Rollout = b.rollout(block.Rollout)
	begin := b.emit(program.Op{Kind: program.OpBlock})
	b.out.Ops[begin].Block = &block
	block.Begin = begin
	outer := b.block
	b.block = &block
	if p.block.HasHooks() {
		b.invertHooked(p, &block)
	} else {
		if block.Rollout != nil {
			block.Rollout.Body = &block
		}
		b.invertSection(p)
	}
	block.End = b.put(program.Op{Kind: program.OpEnd})
	b.block = outer
}

// hostsIn returns the hosts on which a task of the section has changed something, or
// whose post_tasks are due; nil for all.
func (b *builder) hostsIn(p *section) map[string]bool {
	if b.history.all {
		return nil
	}
	out := map[string]bool{}
	if p.block.HasHooks() {
		maps.Copy(out, b.history.due[p.block.Rollout.Name])
	}
	for _, t := range p.tasks() {
		for host := range b.history.items[t.ID] {
			out[host] = true
		}
	}
	return out
}

// throttle returns a throttle that can be computed, 1 if the original cannot.
func (b *builder) throttle(e *lang.Expr) *lang.Expr {
	if e == nil {
		return nil
	}
	b.uses(e.Refs())
	return e.WithFallback(1)
}

// rollout returns a rollout with conditions that can be computed; a host for which
// one cannot is protected.
func (b *builder) rollout(r *program.Rollout) *program.Rollout {
	if r == nil {
		return nil
	}
	return r.Computable(func(refs lang.Refs) bool {
		known := !slices.ContainsFunc(refs.Names(), func(name string) bool { return b.own[name] && !b.asked[name] })
		if known {
			b.uses(refs)
		}
		return known
	})
}

// undo emits the step that restores the changes of a task: those that need their
// files first when then is true, else the others.
func (b *builder) undo(t *program.Task, then bool) {
	test := early
	if then {
		test = needsFilesFirst
	}
	only := b.history.hostsWith(t.ID, test)
	if only != nil && len(only) == 0 {
		return
	}
	v := engine.Revert{Run: b.Run, Task: t.ID, AfterFiles: then, Force: b.Force}
	undo, err := t.Replacing(v.ID(), engine.RevertModule, v)
	if err != nil {
		b.err = err
		return
	}
	undo.OnlyHosts, undo.Throttle = only, b.throttle(t.Throttle)
	if !then {
		undo.Needs = b.waits.take()
	}
	for _, h := range t.Notify {
		if handler := b.handlers[h]; handler != nil {
			undo.Notify = append(undo.Notify, handler)
		}
	}
	b.task(undo)
}
