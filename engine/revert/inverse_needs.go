package revert

import (
	"deployer/engine/program"
)

// waits inverts needs: steps that waited for a label must be restored before the
// steps behind that label.
type waits struct {
	// passed are the labels of the inverse after the steps that needed a label.
	passed map[*program.Label][]passage
	// pending are the needs of the next step that is restored.
	pending []program.Need
}

type passage struct {
	label *program.Label
	at    *section
}

// passed emits a label after steps that needed others.
func (b *builder) passed(needs []program.Need) {
	if !b.emitted {
		return // nothing before it is restored
	}
	l := &program.Label{Name: "what needed " + needs[0].Label.Name + " is restored", Index: len(b.out.Labels), Play: b.play}
	l.Op = b.put(program.Op{Kind: program.OpLabel, Label: l})
	b.out.Labels = append(b.out.Labels, l)
	for _, n := range needs {
		if b.waits.passed == nil {
			b.waits.passed = map[*program.Label][]passage{}
		}
		b.waits.passed[n.Label] = append(b.waits.passed[n.Label], passage{l, b.at})
	}
}

// reach makes the next step wait for those that needed a label. Steps that take
// turns with it do not count: they may wait for this very host.
func (w *waits) reach(l *program.Label, at *section) {
	for _, p := range w.passed[l] {
		if !shareTurns(p.at, at) {
			w.pending = append(w.pending, program.Need{Label: p.label})
		}
	}
}

// take returns and clears the pending needs.
func (w *waits) take() []program.Need {
	out := w.pending
	w.pending = nil
	return out
}

// shareTurns reports whether two sections are in the same block in which hosts take
// turns.
func shareTurns(a, b *section) bool {
	for ; a.block != nil; a = a.up {
		for c := b; c.block != nil; c = c.up {
			if a == c {
				return true
			}
		}
	}
	return false
}
