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
