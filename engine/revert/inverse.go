package revert

import (
	"slices"

	"deployer/engine"
	"deployer/engine/playbook"
)

// Options say what is to be reverted.
type Options struct {
	// Run is the run whose changes are put back.
	Run string
	// Force puts back also what somebody has changed since.
	Force bool
	// Past is what hosts know of the run. Without it (nil) the program is for
	// every task on every host, as in reverting a revert.
	Past map[string]engine.Past
	// Log is what the log of the run says; nil when there is none.
	Log Log
}

// Log tells what became of the tasks of a run.
type Log interface {
	// Skipped tells whether a task was skipped on a host; its gate is too.
	Skipped(host, task string) bool
	// Ran tells whether a task was begun on a host; it is asked about actions,
	// of which hosts know nothing.
	Ran(host, task string) bool
}

// Inverted is the way back.
type Inverted struct {
	Program *playbook.Program
	// Everyone is true when all hosts of the program are needed, because it
	// begins with asking them something.
	Everyone bool
	// LeftOut names gates and handlers that cannot be repeated, with the reason.
	LeftOut []string
}

// Inverse returns the program that puts back what a run of prog has changed.
func Inverse(prog *playbook.Program, o Options) (*Inverted, error) {
	b := newBuilder(prog, o)
	b.build()
	if b.asks {
		// What stands on the answers is known only now, and they come first.
		second := newBuilder(prog, o)
		second.requery()
		second.build()
		second.asks = true
		b = second
	}
	if b.err != nil {
		return nil, b.err
	}
	return &Inverted{Program: b.out, Everyone: b.asks, LeftOut: b.leftOut}, nil
}

func (b *builder) build() {
	for _, p := range slices.Backward(b.prog.Plays) {
		b.invertPlay(p)
	}
	b.emitRemainder()
}

func (b *builder) invertPlay(p *playbook.Play) {
	root := readSection(b.prog, p)
	b.from = p
	b.open(p, nameOf(p), p.Serial)
	b.repeatHandlers(p, root)
	b.invertSection(root)
	b.close()
}

// invertSection puts the steps of a part back, and then holds its gates.
func (b *builder) invertSection(p *section) {
	outer := b.at
	b.at = p
	flushed := false
	for _, n := range slices.Backward(p.nodes) {
		switch n.kind {
		case playbook.OpBarrier:
			b.barrier = true
		case playbook.OpFlush:
			if !flushed {
				for _, h := range slices.Backward(b.from.Handlers) {
					b.undo(h, false)
				}
			}
			flushed = true
		case playbook.OpTask:
			b.undo(n.task, false)
		case playbook.OpBlock:
			b.invertBlock(n.section)
		case playbook.OpLabel:
			b.waits.reach(n.label, p)
		case opNeeds:
			b.passed(n.needs)
		}
	}
	b.emitGates(p)
	b.at = outer
}

// invertBlock is a block in which hosts take turns: they go back through it as they
// came, with a canary where they had one.
func (b *builder) invertBlock(p *section) {
	only := b.hostsIn(p)
	if only != nil && len(only) == 0 {
		return
	}
	block := *p.block
	block.When, block.Parent, block.Rescue, block.Always, block.Only = nil, b.block, 0, 0, only
	block.Needs = b.waits.take()
	block.Throttle = b.throttle(block.Throttle)
	block.Rollout = b.rollout(block.Rollout)
	begin := b.emit(playbook.Op{Kind: playbook.OpBlock})
	b.out.Ops[begin].Block = &block
	block.Begin = begin
	outer := b.block
	b.block = &block
	b.invertSection(p)
	block.End = b.put(playbook.Op{Kind: playbook.OpEnd})
	b.block = outer
}

// hostsIn are the hosts on which anything in a part has changed something.
func (b *builder) hostsIn(p *section) map[string]bool {
	if b.history.all {
		return nil
	}
	out := map[string]bool{}
	for _, t := range p.tasks() {
		for host := range b.history.items[t.ID] {
			out[host] = true
		}
	}
	return out
}

// throttle is one that can be computed, one way or another.
func (b *builder) throttle(e *playbook.Expr) *playbook.Expr {
	if e == nil {
		return nil
	}
	b.uses(e.Refs())
	return e.Or(1)
}

// rollout is one whose conditions can be computed; a host for which they cannot is
// protected.
func (b *builder) rollout(r *playbook.Rollout) *playbook.Rollout {
	if r == nil {
		return nil
	}
	return r.Computable(func(refs playbook.Refs) bool {
		known := !slices.ContainsFunc(refs.Names(), func(name string) bool { return b.own[name] && !b.asked[name] })
		if known {
			b.uses(refs)
		}
		return known
	})
}

// undo puts back what the steps of a task have changed.
func (b *builder) undo(t *playbook.Task, then bool) {
	test := early
	if then {
		test = late
	}
	only := b.history.hostsWith(t.ID, test)
	if only != nil && len(only) == 0 {
		return
	}
	v := engine.Revert{Run: b.Run, Task: t.ID, Late: then, Force: b.Force}
	undo, err := t.Instead(v.ID(), engine.RevertModule, v)
	if err != nil {
		b.err = err
		return
	}
	undo.Only, undo.Throttle = only, b.throttle(t.Throttle)
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
