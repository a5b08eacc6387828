package lang

import (
	"slices"
	"strings"
	"text/template/parse"
)

// findDefiniteUses returns the variables that the template reads on every host: not those
// in the bodies of if, range and with, nor behind the first argument of and and or. For a
// template that may set variables itself the result is empty.
func (t *Template) findDefiniteUses() []VarUse {
	for _, part := range t.tpl.Templates() {
		if part.Tree != nil {
			eachCommand(part.Root, func(c *parse.CommandNode) { t.setsVars = t.setsVars || setsVars(c) })
		}
	}
	if t.setsVars || t.tpl.Tree == nil {
		return nil
	}
	w := &useWalk{of: t}
	w.list(t.tpl.Root)
	t.includes = w.includes
	return w.out
}

// setsVars reports whether a command may change the variables themselves, as {{ $_ := set .
// "port" 80 }} does.
func setsVars(c *parse.CommandNode) bool {
	id, ok := c.Args[0].(*parse.IdentifierNode)
	if !ok || !slices.Contains([]string{"set", "unset", "merge", "mustMerge", "mergeOverwrite", "mustMergeOverwrite"}, id.Ident) {
		return false
	}
	return slices.ContainsFunc(c.Args, func(n parse.Node) bool { return isVars(n, true) })
}

type useWalk struct {
	of       *Template
	called   []string // templates of the file, around this place
	part     bool     // the dot and $ are not the variables: the template was called with another value
	includes []string // template files
	out      []VarUse
}

func (w *useWalk) list(l *parse.ListNode) {
	for _, n := range l.Nodes {
		switch n := n.(type) {
		case *parse.ActionNode:
			w.pipe(n.Pipe)
		case *parse.IfNode:
			w.pipe(n.Pipe)
		case *parse.RangeNode:
			w.pipe(n.Pipe)
		case *parse.WithNode:
			w.pipe(n.Pipe)
		case *parse.TemplateNode:
			w.call(n)
		}
	}
}

// call follows {{ template "name" . }} into a template of the same file.
func (w *useWalk) call(n *parse.TemplateNode) {
	if n.Pipe != nil {
		w.pipe(n.Pipe)
	}
	whole := n.Pipe != nil && len(n.Pipe.Cmds) == 1 && len(n.Pipe.Cmds[0].Args) == 1 && isVars(n.Pipe.Cmds[0].Args[0], true)
	called := w.of.tpl.Lookup(n.Name)
	part := w.part || !whole
	key := n.Name + map[bool]string{true: "\x00"}[part]
	if called == nil || called.Tree == nil || slices.Contains(w.called, key) {
		return
	}
	w.called = append(w.called, key)
	around := w.part
	w.part = part
	w.list(called.Root)
	w.part = around
}

func (w *useWalk) pipe(p *parse.PipeNode) {
	for _, c := range p.Cmds {
		args := c.Args
		if id, ok := args[0].(*parse.IdentifierNode); ok {
			switch id.Ident {
			case "and", "or":
				args = args[:min(len(args), 2)]
			case includeFunc:
				w.include(args)
			case exprFunc:
				w.expr(args)
			}
		}
		for _, a := range args {
			w.arg(a)
		}
	}
}

// include records a template file that is rendered with all variables.
func (w *useWalk) include(args []parse.Node) {
	if !w.part && len(args) == 3 && isVars(args[2], true) {
		if name, ok := args[1].(*parse.StringNode); ok {
			w.includes = append(w.includes, name.Text)
		}
	}
}

// expr records the variables that an expression reads on every host.
func (w *useWalk) expr(args []parse.Node) {
	src, ok := args[1].(*parse.StringNode)
	if !ok || w.part {
		return
	}
	e := w.of.exprs[src.Text]
	for _, use := range e.definite {
		if !slices.Contains(e.names, use.Name) {
			w.out = append(w.out, use)
		}
	}
}

func (w *useWalk) arg(n parse.Node) {
	switch t := n.(type) {
	case *parse.IdentifierNode:
		if slices.Contains(w.of.asFuncs, t.Ident) {
			w.note(t.Ident, n)
		}
	case *parse.FieldNode:
		if !w.part {
			w.note(t.Ident[0], n)
		}
	case *parse.VariableNode:
		if !w.part && t.Ident[0] == "$" && len(t.Ident) > 1 {
			w.note(t.Ident[1], n)
		}
	case *parse.PipeNode:
		w.pipe(t)
	case *parse.ChainNode:
		if w.part || !isVars(t.Node, true) {
			w.arg(t.Node)
		}
	}
}

// note records a variable with its place. The position of a chain is that of its last part.
func (w *useWalk) note(name string, n parse.Node) {
	before := w.of.src[:min(int(n.Position()), len(w.of.src))]
	line := strings.Count(before, "\n") + 1
	col := len(before) - 1 - strings.LastIndex(before, "\n")
	code := w.of.asWritten(n.String())
	w.out = append(w.out, VarUse{Name: name, Pos: w.of.orig.at(line, w.of.begin(line, col, code)), Source: "template {{ " + code + " }}"})
}
