package lang

import (
	"fmt"
	"slices"
	"strings"
	"text/template"
	"text/template/parse"
)

// parseFile parses a template file. A name that stands by itself and is not a function is a
// variable of the host: {{ host.name }} is {{ $.host.name }}. The second result holds the
// variables that {{ define }} parts of the file name in this way: there, $ is the argument
// of the call, so bind makes these variables functions.
func parseFile(src string, funcs template.FuncMap) (*template.Template, []string, error) {
	tree := parse.New(".")
	tree.Mode = parse.SkipFuncCheck
	set := map[string]*parse.Tree{}
	builtins := template.FuncMap{}
	for _, name := range builtinNames {
		builtins[name] = nil
	}
	if _, err := tree.Parse(src, "", "", set, map[string]any(builtins), map[string]any(funcs)); err != nil {
		return nil, nil, err
	}
	b := &bareNames{src: src, known: func(name string) bool {
		_, ours := funcs[name]
		_, theirs := builtins[name]
		return ours || theirs
	}, asFuncs: template.FuncMap{}}
	tpl := template.New(".").Option("missingkey=error").Funcs(boundBuiltins).Funcs(funcs)
	for name, part := range set {
		b.define = name != "."
		b.list(part.Root)
	}
	if b.err != nil {
		return nil, nil, b.err
	}
	tpl.Funcs(b.asFuncs)
	for name, part := range set {
		if _, err := tpl.AddParseTree(name, part); err != nil {
			return nil, nil, err
		}
	}
	names := make([]string, 0, len(b.asFuncs))
	for name := range b.asFuncs {
		names = append(names, name)
	}
	return tpl, names, nil
}

// builtinNames are the functions that text/template itself has.
var builtinNames = []string{"and", "or", "not", "call", "html", "index", "slice", "js", "len", "print", "printf", "println", "urlquery",
	"eq", "ne", "lt", "le", "gt", "ge"}

// templateKeywords are the words of text/template's own syntax.
var templateKeywords = []string{"block", "break", "continue", "define", "else", "end", "if", "range", "nil", "template", "with", "true", "false"}

// NeedsDot reports whether a variable of this name has a dot in template files, {{ .list }},
// because the name alone is a function or keyword there.
func NeedsDot(name string) bool {
	_, function := fileFunctions()[name]
	return function || name == includeFunc || name == exprFunc || slices.Contains(builtinNames, name) || slices.Contains(templateKeywords, name)
}

// bareNames rewrites the names of a parsed template that are not functions.
type bareNames struct {
	src     string
	known   func(name string) bool
	define  bool // inside of a {{ define }}
	asFuncs template.FuncMap
	err     error // the first unknown function
}

func (b *bareNames) list(l *parse.ListNode) {
	if l == nil {
		return
	}
	for _, n := range l.Nodes {
		switch t := n.(type) {
		case *parse.ActionNode:
			b.pipe(t.Pipe)
		case *parse.IfNode:
			b.branch(&t.BranchNode)
		case *parse.RangeNode:
			b.branch(&t.BranchNode)
		case *parse.WithNode:
			b.branch(&t.BranchNode)
		case *parse.TemplateNode:
			b.pipe(t.Pipe)
		}
	}
}

func (b *bareNames) branch(n *parse.BranchNode) {
	b.pipe(n.Pipe)
	b.list(n.List)
	b.list(n.ElseList)
}

func (b *bareNames) pipe(p *parse.PipeNode) {
	if p == nil {
		return
	}
	for i, c := range p.Cmds {
		if id, ok := c.Args[0].(*parse.IdentifierNode); ok && !b.known(id.Ident) && (i > 0 || len(c.Args) > 1) {
			b.unknownFunction(id)
		}
		for j, a := range c.Args {
			c.Args[j] = b.node(a)
		}
	}
}

func (b *bareNames) node(n parse.Node) parse.Node {
	switch t := n.(type) {
	case *parse.PipeNode:
		b.pipe(t)
	case *parse.IdentifierNode:
		if !b.known(t.Ident) {
			return b.variable(t, nil)
		}
	case *parse.ChainNode:
		if id, ok := t.Node.(*parse.IdentifierNode); ok && !b.known(id.Ident) {
			return b.variable(id, t)
		}
		t.Node = b.node(t.Node)
	}
	return n
}

// variable returns the node that a name stands for, with the fields behind it.
func (b *bareNames) variable(id *parse.IdentifierNode, chain *parse.ChainNode) parse.Node {
	if b.define {
		b.asFuncs[id.Ident] = func() (any, error) { return nil, fmt.Errorf("unknown name %q", id.Ident) }
		if chain != nil {
			return chain
		}
		return id
	}
	v := &parse.VariableNode{NodeType: parse.NodeVariable, Pos: id.Pos, Ident: []string{"$", id.Ident}}
	if chain != nil {
		v.Ident = append(v.Ident, chain.Field...)
	}
	return v
}

// unknownFunction records the error for a name with arguments that is not a function.
func (b *bareNames) unknownFunction(id *parse.IdentifierNode) {
	if b.err == nil {
		line := strings.Count(b.src[:min(int(id.Pos), len(b.src))], "\n") + 1
		b.err = fmt.Errorf("template: .:%d: function %q not defined", line, id.Ident)
	}
}

// bind gives the variables of a host to the {{ define }} parts of the file, which name them
// as functions.
func (t *Template) bind(vars map[string]any) (*template.Template, error) {
	if len(t.asFuncs) == 0 {
		return t.tpl, nil
	}
	bound, err := t.tpl.Clone()
	if err != nil {
		return nil, err
	}
	funcs := template.FuncMap{}
	for _, name := range t.asFuncs {
		funcs[name] = func() (any, error) {
			value, ok := vars[name]
			if !ok {
				return nil, fmt.Errorf("unknown name %q%s", name, NameHint(name, vars))
			}
			return value, nil
		}
	}
	return bound.Funcs(funcs), nil
}
