package taskargs

import (
	"deployer/engine/lang"
)

// definiteUses gathers what arguments look at in any case; of conditions the first.
func (n *argNode) definiteUses() []lang.VarUse {
	if n.text != nil {
		return n.text.DefiniteUses()
	}
	if len(n.exprs) > 0 {
		return n.exprs[0].DefiniteUses()
	}
	var out []lang.VarUse
	for _, c := range n.children {
		out = append(out, c.definiteUses()...)
	}
	return out
}
