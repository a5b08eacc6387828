package lang

import (
	"text/template"
	"text/template/parse"
)

// templateRefs returns the variables that a template may read.
func templateRefs(t *template.Template) Refs {
	w := &refWalk{set: t, defined: map[string]bool{}}
	if t.Tree != nil {
		w.node(t.Root, true)
	}
	return w.refs
}

// refWalk visits the nodes of a template. top is true where the dot is the variables
// themselves; inside of range and with it is another value.
type refWalk struct {
	refs    Refs
	set     *template.Template
	defined map[string]bool // named templates already walked
}

func (w *refWalk) node(n parse.Node, top bool) {
	switch t := n.(type) {
	case *parse.ListNode:
		if t != nil {
			for _, c := range t.Nodes {
				w.node(c, top)
			}
		}
	case *parse.ActionNode:
		w.pipe(t.Pipe, top)
	case *parse.IfNode:
		w.branch(&t.BranchNode, top, top)
	case *parse.RangeNode:
		w.branch(&t.BranchNode, top, false)
	case *parse.WithNode:
		w.branch(&t.BranchNode, top, false)
	case *parse.TemplateNode:
		w.call(t, top)
	}
}

func (w *refWalk) branch(b *parse.BranchNode, top, inside bool) {
	w.pipe(b.Pipe, top)
	w.node(b.List, inside)
	w.node(b.ElseList, top)
}

func (w *refWalk) call(t *parse.TemplateNode, top bool) {
	whole := w.isWhole(t.Pipe, top)
	if !whole {
		w.pipe(t.Pipe, top)
	}
	// The template is walked once, as if called with all variables when any
	// caller does.
	key := t.Name
	if whole {
		key += "\x00"
	}
	if called := w.set.Lookup(t.Name); called != nil && called.Tree != nil && !w.defined[key] {
		w.defined[key] = true
		w.node(called.Root, whole)
	}
}

// isWhole reports whether a pipeline is the dot with all variables, or $.
func (w *refWalk) isWhole(p *parse.PipeNode, top bool) bool {
	if p == nil || len(p.Cmds) != 1 || len(p.Cmds[0].Args) != 1 {
		return false
	}
	return isVars(p.Cmds[0].Args[0], top)
}

func isVars(n parse.Node, top bool) bool {
	switch t := n.(type) {
	case *parse.DotNode:
		return top
	case *parse.VariableNode:
		return len(t.Ident) == 1 && t.Ident[0] == "$"
	}
	return false
}

func (w *refWalk) pipe(p *parse.PipeNode, top bool) {
	if p == nil {
		return
	}
	for _, c := range p.Cmds {
		w.command(c, top)
	}
}

// command handles the functions that read one name of all variables, as in index . "x" and
// dig "x" "default" .
func (w *refWalk) command(c *parse.CommandNode, top bool) {
	args := c.Args
	if id, ok := args[0].(*parse.IdentifierNode); ok && len(args) > 2 {
		at, name := 1, 2
		if id.Ident == "dig" {
			at, name = len(args)-1, 1
		}
		text, constant := args[name].(*parse.StringNode)
		switch id.Ident {
		case includeFunc:
			return // Files.mergeIncluded adds the variables of the included template
		case exprFunc:
			for _, a := range args[3:] { // compileExprs adds the variables of the expression
				w.arg(a, top)
			}
			return
		case "index", "get", "hasKey", "dig":
			if constant && isVars(args[at], top) {
				w.refs.Add(text.Text)
				w.refs.test(text.Text)
				for i, a := range args {
					if i != at {
						w.arg(a, top)
					}
				}
				return
			}
		}
	}
	for _, a := range args {
		w.arg(a, top)
	}
}

func (w *refWalk) arg(n parse.Node, top bool) {
	switch t := n.(type) {
	case *parse.FieldNode:
		if top {
			w.field(t.Ident)
		}
	case *parse.VariableNode:
		if t.Ident[0] == "$" && len(t.Ident) > 1 {
			w.field(t.Ident[1:])
		}
	case *parse.ChainNode:
		if isVars(t.Node, top) {
			w.refs.Add(t.Field[0])
			return
		}
		w.arg(t.Node, top)
	case *parse.PipeNode:
		w.pipe(t, top)
	}
	if isVars(n, top) {
		w.refs.all = true
	}
}

// field records a variable by its path, as in .name.field.
func (w *refWalk) field(path []string) {
	if len(path) > 1 {
		w.refs.addField(path[0], path[1])
		return
	}
	w.refs.Add(path[0])
}
