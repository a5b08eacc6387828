package taskargs

import (
	"cmp"
	"reflect"

	"gopkg.in/yaml.v3"

	"deployer/argrule"
	"deployer/engine/lang"
	"deployer/strictyaml"
)

// Args are the arguments of a task as written, with their texts and expressions compiled.
type Args struct {
	doc  *lang.Document
	root *argNode
	refs lang.Refs
}

// argNode is a node of the arguments with the type that it is decoded into, so that a
// rendered text becomes a value of that type.
type argNode struct {
	node     *yaml.Node
	text     *lang.Interpolation
	argType  argType
	rule     string       // of package argrule, by the tag of the argument
	children []*argNode   // one for each of node.Content; nil when nothing below contains expressions
	exprs    []*lang.Expr // of an argument that is expressions; nil for any other
	computed bool         // the argument is one expression, whose value is the argument
}

// Compile compiles the texts of a node that will be decoded into t, and returns all errors.
func Compile(d *lang.Document, n *yaml.Node, t reflect.Type) (*Args, []error) {
	a := &Args{doc: d}
	var errs []error
	a.root = a.compile(n, t, "", &errs)
	return a, errs
}

// Refs returns the variables that the arguments may read.
func (a *Args) Refs() lang.Refs { return a.refs }

// DefiniteUses returns the variables that the arguments read on every host.
func (a *Args) DefiniteUses() []lang.VarUse { return a.root.definiteUses() }

// Decode renders the arguments and decodes them into a value of the task's kind.
func (a *Args) Decode(vars map[string]any, into any) error {
	node, err := a.render(vars)
	if err != nil {
		return err
	}
	return strictyaml.Decode(a.doc.Name, node, into)
}

// Templated reports whether the arguments may differ from host to host.
func (a *Args) Templated() bool { return a.root.dynamic() }

func (n *argNode) dynamic() bool { return n.text != nil || n.children != nil || n.exprs != nil }

// at returns the argument at the end of a path; nil when it is missing or computed.
func (n *argNode) at(path []string) *argNode {
	if len(path) == 0 {
		return nil
	}
	for _, name := range path {
		if n = n.field(name); n == nil {
			return nil
		}
	}
	return n
}

func (n *argNode) field(name string) *argNode {
	for i := 0; i+1 < len(n.node.Content); i += 2 {
		if n.node.Content[i].Value != name {
			continue
		}
		if n.children != nil {
			return n.children[i+1]
		}
		return &argNode{node: n.node.Content[i+1]}
	}
	return nil
}

func (a *Args) compile(n *yaml.Node, t reflect.Type, rule string, errs *[]error) *argNode {
	if isExpressions(t) {
		return a.compileExpressions(n, t, errs)
	}
	out := &argNode{node: n, argType: argTypeOf(t), rule: rule}
	if n.Kind == yaml.ScalarNode {
		if n.ShortTag() != "!!str" || !lang.IsTemplate(n.Value) {
			return out
		}
		text, err := lang.CompileInterpolation(n.Value, a.doc.Origin(n))
		if err != nil {
			*errs = append(*errs, err)
			return out
		}
		out.text = text
		a.refs.Merge(text.Refs())
		return out
	}
	children := make([]*argNode, len(n.Content))
	dynamic := false
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			children[i] = &argNode{node: c}
			continue
		}
		below := rule
		if n.Kind == yaml.MappingNode {
			below = cmp.Or(fieldRule(t, n.Content[i-1].Value), rule)
		}
		children[i] = a.compile(c, childType(t, n, i), below, errs)
		dynamic = dynamic || children[i].dynamic()
	}
	if dynamic {
		out.children = children
	}
	return out
}

// render returns the arguments with all templates rendered.
func (a *Args) render(vars map[string]any) (*yaml.Node, error) { return a.root.render(vars) }

func (n *argNode) render(vars map[string]any) (*yaml.Node, error) {
	switch {
	case n.text != nil:
		return n.scalar(vars)
	case n.exprs != nil:
		return n.eval(vars)
	case n.children == nil:
		return n.node, nil
	}
	out := *n.node
	out.Content = make([]*yaml.Node, 0, len(n.children))
	for i, c := range n.children {
		child, err := c.render(vars)
		if err != nil {
			return nil, err
		}
		if left, err := c.omitted(child); err != nil {
			return nil, err
		} else if !left {
			out.Content = append(out.Content, child)
		} else if n.node.Kind == yaml.MappingNode && i%2 == 1 {
			out.Content = out.Content[:len(out.Content)-1] // the key goes with it
		}
	}
	return &out, nil
}

func (n *argNode) scalar(vars map[string]any) (*yaml.Node, error) {
	if n.argType == wantText || n.argType == wantOther && !n.text.Single() {
		return n.rendered(vars)
	}
	v, err := n.text.Value(vars)
	if err != nil {
		return nil, err
	}
	if s, isText := v.(string); isText && n.argType == wantOther {
		return n.reread(s)
	}
	return n.encode(v)
}

// rendered renders a text. A list or a mapping is an error: its JSON is not what an
// argument that wants a text means.
func (n *argNode) rendered(vars map[string]any) (*yaml.Node, error) {
	var v any
	if n.text.Single() {
		var err error
		if v, err = n.text.Value(vars); err != nil {
			return nil, err
		}
		switch v.(type) {
		case map[string]any, []any:
			return nil, n.text.Pos().Errorf("template %s gives %s where a text is wanted; use join, to_json or to_nice_yaml", n.text.Source(), lang.Describe(v))
		}
	}
	s, err := n.text.Text(vars)
	if err != nil {
		return nil, err
	}
	switch v.(type) {
	case int, float64:
		if s, err = argrule.Number(n.rule, v, s); err != nil {
			return nil, strictyaml.Errors{n.text.Pos().Errorf("template %s: %v", n.text.Source(), err)}
		}
	}
	if n.argType == wantOther {
		return n.reread(s)
	}
	return n.withPosition(&yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Style: yaml.DoubleQuotedStyle, Value: s}), nil
}

func (n *argNode) encode(v any) (*yaml.Node, error) {
	if s, ok := v.(string); ok { // also when it looks like a number
		return n.withPosition(&yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Style: yaml.DoubleQuotedStyle, Value: s}), nil
	}
	out := &yaml.Node{}
	if err := out.Encode(v); err != nil {
		return nil, n.text.Pos().Errorf("template %s: %v", n.text.Source(), err)
	}
	return n.withPosition(out), nil
}

func (n *argNode) reread(s string) (*yaml.Node, error) {
	pos := n.text.Pos()
	root, err := strictyaml.Parse(pos.File, []byte(s))
	if err != nil {
		return nil, pos.Errorf("template %s gives %q, which is not YAML", n.text.Source(), shorten(s))
	}
	return n.withPosition(root), nil
}

// withPosition gives a node, and all nodes below, the place of the text that it was made
// from.
func (n *argNode) withPosition(made *yaml.Node) *yaml.Node {
	made.Line, made.Column = n.node.Line, n.node.Column
	for _, c := range made.Content {
		n.withPosition(c)
	}
	return made
}

func shorten(s string) string {
	if r := []rune(s); len(r) > 60 {
		return string(r[:60]) + "…"
	}
	return s
}
