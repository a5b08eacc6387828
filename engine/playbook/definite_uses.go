package playbook

import (
	"github.com/expr-lang/expr/ast"

	"deployer/strictyaml"
)

// varUse is a place at which a variable is looked at, whatever the values of others
// are: if it is not there, this is an error on every host that comes there.
type varUse struct {
	name string
	pos  strictyaml.Pos
	what string // as errors call it: template {{ name }}
	by   string // what looks there, when it stands elsewhere
}

// collectDefinite gathers the variables that an expression looks at in any case: not those
// behind && and ||, in one branch of a choice, or in the body of a predicate.
func (s *strictness) collectDefinite(n ast.Node) {
	switch t := n.(type) {
	case *ast.IdentifierNode:
		if loc := t.Location(); !isEnv(t) && t.Value != omitName && !s.untouched[loc] && !s.locals[t.Value] && !s.tolerant[loc] {
			s.definite = append(s.definite, t)
		}
	case *ast.UnaryNode:
		s.collectDefinite(t.Node)
	case *ast.BinaryNode:
		s.collectDefinite(t.Left)
		switch t.Operator {
		case "&&", "and", "||", "or", "??":
		default:
			s.collectDefinite(t.Right)
		}
	case *ast.ChainNode:
		s.collectDefinite(t.Node)
	case *ast.MemberNode:
		s.collectDefinite(t.Node)
		if !t.Optional {
			s.collectDefinite(t.Property)
		}
	case *ast.ConditionalNode:
		s.collectDefinite(t.Cond)
	case *ast.VariableDeclaratorNode:
		s.collectDefinite(t.Value)
		s.collectDefinite(t.Expr)
	case *ast.BuiltinNode:
		s.collectDefiniteAll(t.Arguments)
	case *ast.CallNode:
		if f, ok := t.Callee.(*ast.IdentifierNode); ok && isDefault(f.Value) && len(t.Arguments) > 0 {
			s.collectDefinite(t.Arguments[0])
			return
		}
		s.collectDefiniteAll(t.Arguments)
	case *ast.SequenceNode:
		s.collectDefiniteAll(t.Nodes)
	case *ast.ArrayNode:
		s.collectDefiniteAll(t.Nodes)
	}
}

func (s *strictness) collectDefiniteAll(nodes []ast.Node) {
	for _, n := range nodes {
		s.collectDefinite(n)
	}
}

// definiteUses gathers what a value looks at in any case.
func (v *Value) definiteUses() []varUse {
	if v.text != nil {
		return v.text.definite
	}
	var out []varUse
	for _, c := range v.list {
		out = append(out, c.definiteUses()...)
	}
	return out
}

// definiteUses gathers what arguments look at in any case; of conditions the first.
func (n *argNode) definiteUses() []varUse {
	if n.text != nil {
		return n.text.definite
	}
	if len(n.exprs) > 0 {
		return n.exprs[0].definite
	}
	var out []varUse
	for _, c := range n.children {
		out = append(out, c.definiteUses()...)
	}
	return out
}
