package revert

import "deployer/engine/playbook"

// waits turns needs around: what waited for a label when it was done must be
// back before what the label stood behind.
type waits struct {
	// passed are the labels of the way back behind what needed a label.
	passed map[*playbook.Label][]passage
	// pending are what the next step that is put back has to wait for.
	pending []playbook.Need
}

type passage struct {
	label *playbook.Label
	at    *section
}

// passed lays out a label behind something that needed others.
func (b *builder) passed(needs []playbook.Need) {
	if !b.emitted {
		return // nothing before it is put back
	}
	l := &playbook.Label{Name: "what needed " + needs[0].Label.Name + " is put back", Index: len(b.out.Labels), Play: b.play}
	l.Op = b.put(playbook.Op{Kind: playbook.OpLabel, Label: l})
	b.out.Labels = append(b.out.Labels, l)
	for _, n := range needs {
		if b.waits.passed == nil {
			b.waits.passed = map[*playbook.Label][]passage{}
		}
		b.waits.passed[n.Label] = append(b.waits.passed[n.Label], passage{l, b.at})
	}
}

// reach makes what comes next wait for those that needed a label. Those that
// take turns with it do not count: they may have to wait for this very host.
func (w *waits) reach(l *playbook.Label, at *section) {
	for _, p := range w.passed[l] {
		if !shareTurns(p.at, at) {
			w.pending = append(w.pending, playbook.Need{Label: p.label})
		}
	}
}

// take hands over what there is to wait for.
func (w *waits) take() []playbook.Need {
	out := w.pending
	w.pending = nil
	return out
}

// shareTurns tells whether two parts are in the same throttled block.
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
