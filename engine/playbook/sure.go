package playbook

import (
	"github.com/expr-lang/expr/ast"

	"deployer/strictyaml"
)

// sight is a place at which a variable is looked at, whatever the values of others
// are: if it is not there, this is an error on every host that comes there.
type sight struct {
	name string
	pos  strictyaml.Pos
	what string // as errors call it: template {{ name }}
	by   string // what looks there, when it stands elsewhere
}

// surely gathers the variables that an expression looks at in any case: not those
// behind && and ||, in one branch of a choice, or in the body of a predicate.
func (s *strictness) surely(n ast.Node) {
	switch t := n.(type) {
	case *ast.IdentifierNode:
		if loc := t.Location(); !isEnv(t) && t.Value != omitName && !s.keep[loc] && !s.locals[t.Value] && !s.tolerant[loc] {
			s.sure = append(s.sure, t)
		}
	case *ast.UnaryNode:
		s.surely(t.Node)
	case *ast.BinaryNode:
		s.surely(t.Left)
		switch t.Operator {
		case "&&", "and", "||", "or", "??":
		default:
			s.surely(t.Right)
		}
	case *ast.ChainNode:
		s.surely(t.Node)
	case *ast.MemberNode:
		s.surely(t.Node)
		if !t.Optional {
			s.surely(t.Property)
		}
	case *ast.ConditionalNode:
		s.surely(t.Cond)
	case *ast.VariableDeclaratorNode:
		s.surely(t.Value)
		s.surely(t.Expr)
	case *ast.BuiltinNode:
		s.surelyAll(t.Arguments)
	case *ast.CallNode:
		if f, ok := t.Callee.(*ast.IdentifierNode); ok && isDefault(f.Value) && len(t.Arguments) > 0 {
			s.surely(t.Arguments[0])
			return
		}
		s.surelyAll(t.Arguments)
	case *ast.SequenceNode:
		s.surelyAll(t.Nodes)
	case *ast.ArrayNode:
		s.surelyAll(t.Nodes)
	}
}

func (s *strictness) surelyAll(nodes []ast.Node) {
	for _, n := range nodes {
		s.surely(n)
	}
}

// sure gathers what a value looks at in any case.
func (v *Value) sure() []sight {
	if v.text != nil {
		return v.text.sure
	}
	var out []sight
	for _, c := range v.list {
		out = append(out, c.sure()...)
	}
	return out
}

// sure gathers what arguments look at in any case; of conditions the first.
func (n *argNode) sure() []sight {
	if n.text != nil {
		return n.text.sure
	}
	if len(n.exprs) > 0 {
		return n.exprs[0].sure
	}
	var out []sight
	for _, c := range n.children {
		out = append(out, c.sure()...)
	}
	return out
}
