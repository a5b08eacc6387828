package program

import (
	"deployer/engine/lang"
)

// DefiniteUses returns the variables that texts of the task read on every host, including
// the texts of its variables.
func (t *Task) DefiniteUses() []lang.VarUse {
	var out []lang.VarUse
	if t.Args != nil {
		out = append(out, t.Args.DefiniteUses()...)
	}
	if t.NameText != nil {
		out = append(out, t.NameText.DefiniteUses()...)
	}
	for _, s := range t.Scopes {
		for _, name := range s.Names {
			if t.refs.Has(name) {
				out = append(out, s.Vars[name].DefiniteUses()...)
			}
		}
	}
	return out
}

// CollectRefs computes Refs.
func (b *Block) CollectRefs() {
	var parts []lang.Refs
	for _, e := range b.When {
		parts = append(parts, e.Refs())
	}
	if b.Throttle != nil {
		parts = append(parts, b.Throttle.Refs())
	}
	if b.Rollout != nil {
		for _, e := range b.Rollout.Exprs() {
			parts = append(parts, e.Refs())
		}
	}
	b.refs = lang.Closure(b.Scopes, parts...)
}
