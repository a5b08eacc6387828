package lang

import (
	"github.com/expr-lang/expr/ast"

	"deployer/engine/lang/dialect"
	"deployer/strictyaml"
)

// VarUse is a place at which a variable is read on every host that reaches it, whatever the
// values of other variables are: when the variable is missing, the host fails.
type VarUse struct {
	Name   string
	Pos    strictyaml.Pos
	Source string // as errors quote it: template {{ name }}
	User   string // the end of an error that names the task, when the place is in another file
}

// collectDefinite records the variables that an expression reads on every host: not those
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
		f, _ := t.Callee.(*ast.IdentifierNode)
		switch {
		case f != nil && isDefault(f.Value) && len(t.Arguments) > 0:
			s.collectDefinite(t.Arguments[0])
			return
		case f != nil && f.Value == dialect.ChoiceName && len(t.Arguments) == 3:
			s.collectDefinite(t.Arguments[1])
			return
		case f != nil && isLookup(f.Value):
			s.definiteLookups = append(s.definiteLookups, t)
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

// DefiniteUses returns the variables that the value reads on every host.
func (v *Value) DefiniteUses() []VarUse {
	if v.text != nil {
		return v.text.definite
	}
	var out []VarUse
	for _, c := range v.list {
		out = append(out, c.DefiniteUses()...)
	}
	return out
}
