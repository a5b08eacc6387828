package taskargs

import (
	"deployer/engine/lang"
)

// definiteUses returns the variables that the node reads on every host; of conditions,
// those of the first.
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
