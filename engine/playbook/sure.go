package playbook

import (
	"strings"
	"text/template/parse"

	"github.com/expr-lang/expr/ast"

	"deployer/strictyaml"
)

// sight is a place at which a variable is looked at, whatever the values of others
// are: if it is not there, this is an error on every host that comes there.
type sight struct {
	name string
	pos  strictyaml.Pos
	what string // as errors call it: template {{ .name }}
}

// surely gathers the variables that an expression looks at in any case: not those
// behind && and ||, in one branch of a choice, or in the body of a predicate.
func (s *strictness) surely(n ast.Node) {
	switch t := n.(type) {
	case *ast.IdentifierNode:
		if loc := t.Location(); !isEnv(t) && !s.keep[loc] && !s.locals[t.Value] && !s.tolerant[loc] {
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

// surely gathers the variables that a template looks at in any case: not those in
// the bodies of if, range and with, nor behind the first argument of and and or.
func (t *Template) surely() []sight {
	w := &sureWalk{of: t}
	if t.tpl.Tree != nil {
		for _, n := range t.tpl.Root.Nodes {
			switch n := n.(type) {
			case *parse.ActionNode:
				w.pipe(n.Pipe)
			case *parse.IfNode:
				w.pipe(n.Pipe)
			case *parse.RangeNode:
				w.pipe(n.Pipe)
			case *parse.WithNode:
				w.pipe(n.Pipe)
			}
		}
	}
	return w.out
}

type sureWalk struct {
	of  *Template
	out []sight
}

func (w *sureWalk) pipe(p *parse.PipeNode) {
	for _, c := range p.Cmds {
		args := c.Args
		if id, ok := args[0].(*parse.IdentifierNode); ok && (id.Ident == "and" || id.Ident == "or") {
			args = args[:min(len(args), 2)]
		}
		for _, a := range args {
			w.arg(a)
		}
	}
}

func (w *sureWalk) arg(n parse.Node) {
	switch t := n.(type) {
	case *parse.FieldNode:
		w.see(t.Ident[0], n)
	case *parse.VariableNode:
		if t.Ident[0] == "$" && len(t.Ident) > 1 {
			w.see(t.Ident[1], n)
		}
	case *parse.PipeNode:
		w.pipe(t)
	case *parse.ChainNode:
		if !isVars(t.Node, true) {
			w.arg(t.Node)
		}
	}
}

// see notes a variable with its place; the position of a chain is that of its
// last part.
func (w *sureWalk) see(name string, n parse.Node) {
	before := w.of.src[:min(int(n.Position()), len(w.of.src))]
	line := strings.Count(before, "\n") + 1
	col := len(before) - 1 - strings.LastIndex(before, "\n")
	code := n.String()
	w.out = append(w.out, sight{name, w.of.orig.at(line, w.of.begin(line, col, code)), "template {{ " + code + " }}"})
}
