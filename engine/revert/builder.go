package revert

import (
	"strings"

	"deployer/engine/playbook"
)

// builder builds the inverse program.
type builder struct {
	Options
	prog    *playbook.Program
	history *history
	out     *playbook.Program
	err     error

	from     *playbook.Play  // the play that is being inverted
	at       *section        // the section that is being inverted
	play     *playbook.Play  // under construction
	block    *playbook.Block // under construction
	handlers map[*playbook.Task]*playbook.Task
	emitted  bool // the play under construction has an operation before this place
	barrier  bool // a barrier is due before the next operation
	first    bool // a barrier is due also before the first operation of the play
	waits    waits

	// own are the variables that steps of the run registered, asked those of them that
	// read-only tasks register again.
	own, asked map[string]bool
	asks       bool // something needs the variables of read-only tasks
	leftOut    []string
}

func newBuilder(prog *playbook.Program, o Options) *builder {
	b := &builder{Options: o, prog: prog, history: historyOf(prog, o.Past), out: &playbook.Program{Name: "revert", Secrets: prog.Secrets}}
	b.own, b.asked = namesOf(prog)
	return b
}

// Prefixes of the names of inverted plays, and of plays inverted twice.
const (
	back  = "put back: "
	again = "done again: "
)

func nameOf(p *playbook.Play) string {
	for _, prefix := range []string{back, again} {
		if name, ok := strings.CutPrefix(p.Name, prefix); ok {
			return again + name
		}
	}
	return back + p.Name
}

// open begins a play; close drops the play if it stays empty.
func (b *builder) open(p *playbook.Play, name string, serial playbook.Serial) {
	play := *p
	play.Index, play.Name, play.Serial, play.Handlers, play.Batch = len(b.out.Plays), name, serial, nil, 0
	b.play, b.block, b.emitted, b.barrier, b.first = &play, nil, false, false, false
	b.out.Plays = append(b.out.Plays, b.play)
	b.play.Begin = b.put(playbook.Op{Kind: playbook.OpPlay})
	if len(serial) > 0 {
		b.play.Batch = b.put(playbook.Op{Kind: playbook.OpBatch})
	}
}

func (b *builder) close() {
	b.waits.pending = nil
	if !b.emitted {
		b.out.Plays = b.out.Plays[:b.play.Index]
		b.out.Ops = b.out.Ops[:b.play.Begin]
		return
	}
	b.play.End = b.put(playbook.Op{Kind: playbook.OpPlayEnd})
}

// put appends an operation and returns its index.
func (b *builder) put(op playbook.Op) int {
	op.Play, op.Block = b.play, b.block
	b.out.Ops = append(b.out.Ops, op)
	return len(b.out.Ops) - 1
}

// emit appends an operation of hosts, after a barrier if one is due.
func (b *builder) emit(op playbook.Op) int {
	if b.first || b.barrier && b.emitted {
		b.put(playbook.Op{Kind: playbook.OpBarrier})
	}
	b.barrier, b.emitted, b.first = false, true, false
	return b.put(op)
}

func (b *builder) task(t *playbook.Task) {
	t.Play, t.Block = b.play, b.block
	b.emit(playbook.Op{Kind: playbook.OpTask, Task: t})
	b.out.Tasks = append(b.out.Tasks, t)
}
