package revert

import (
	"strings"

	"deployer/engine/program"
)

// builder builds the inverse program.
type builder struct {
	Options
	prog    *program.Program
	history *history
	out     *program.Program
	err     error

	from     *program.Play  // the play that is being inverted
	at       *section       // the section that is being inverted
	play     *program.Play  // under construction
	block    *program.Block // under construction
	handlers map[*program.Task]*program.Task
	emitted  bool // the play under construction has an operation before this place
	barrier  bool // a barrier is due before the next operation
	first    bool // a barrier is due also before the first operation of the play
	waits    waits

	// own holds the variables that steps of the run registered; asked holds those of them
	// that read-only tasks register again.
	own, asked map[string]bool
	repeated   map[string]bool // variables that the hooks under construction set again
	asks       bool            // something needs the variables of read-only tasks
	leftOut    []string
}

func newBuilder(prog *program.Program, o Options) *builder {
	b := &builder{Options: o, prog: prog, history: historyOf(prog, o.History), out: &program.Program{Name: "revert", Secrets: prog.Secrets}}
	b.own, b.asked = namesOf(prog)
	return b
}

// Prefixes of the names of inverted plays, and of plays inverted twice.
const (
	back  = "restore: "
	again = "done again: "
)

func nameOf(p *program.Play) string {
	for _, prefix := range []string{back, again} {
		if name, ok := strings.CutPrefix(p.Name, prefix); ok {
			return again + name
		}
	}
	return back + p.Name
}

// open begins a play; close drops the play if it stays empty.
func (b *builder) open(p *program.Play, name string, serial program.Serial) {
	play := *p
	play.Index, play.Name, play.Serial, play.Handlers, play.Batch = len(b.out.Plays), name, serial, nil, 0
	b.play, b.block, b.emitted, b.barrier, b.first = &play, nil, false, false, false
	b.out.Plays = append(b.out.Plays, b.play)
	b.play.Begin = b.put(program.Op{Kind: program.OpPlay})
	if len(serial) > 0 {
		b.play.Batch = b.put(program.Op{Kind: program.OpBatch})
	}
}

func (b *builder) close() {
	b.waits.pending = nil
	if !b.emitted {
		b.out.Plays = b.out.Plays[:b.play.Index]
		b.out.Ops = b.out.Ops[:b.play.Begin]
		return
	}
	b.play.End = b.put(program.Op{Kind: program.OpPlayEnd})
}

// put appends an operation and returns its index.
func (b *builder) put(op program.Op) int {
	op.Play, op.Block = b.play, b.block
	b.out.Ops = append(b.out.Ops, op)
	return len(b.out.Ops) - 1
}

// emit appends an operation of hosts, after a barrier if one is due.
func (b *builder) emit(op program.Op) int {
	if b.first || b.barrier && b.emitted {
		b.put(program.Op{Kind: program.OpBarrier})
	}
	b.barrier, b.emitted, b.first = false, true, false
	return b.put(op)
}

func (b *builder) task(t *program.Task) {
	t.Play, t.Block = b.play, b.block
	b.emit(program.Op{Kind: program.OpTask, Task: t})
	b.out.Tasks = append(b.out.Tasks, t)
}
