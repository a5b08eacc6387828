package lang

import (
	"slices"

	"gopkg.in/yaml.v3"

	"deployer/jsontypes"
	"deployer/strictyaml"
)

// Value is a YAML value of any shape whose texts may contain expressions. A text that is
// one expression keeps the type of its value: "{{ ports }}" is a list when ports is one.
type Value struct {
	Pos        strictyaml.Pos
	constant   any
	text       *Interpolation
	list       []*Value
	keys       []string
	refs       Refs
	isMap      bool
	isConstant bool
	// perHost holds the value of each host; nil for any other kind of value.
	perHost map[string]hostValue
}

// Constant returns a value that is v on every host.
func Constant(pos strictyaml.Pos, v any) *Value {
	return &Value{Pos: pos, constant: v, isConstant: true}
}

// PerHost returns a value that each host has its own of; see SetHost.
func PerHost(pos strictyaml.Pos) *Value {
	return &Value{Pos: pos, perHost: map[string]hostValue{}}
}

// SetHost sets the value of a host, or the error that computing it gives there.
func (v *Value) SetHost(host string, value any, err error) {
	v.perHost[host] = hostValue{value: value, err: err}
}

// IsPerHost reports whether each host has a value of its own.
func (v *Value) IsPerHost() bool { return v.perHost != nil }

// Elements returns the elements of a list as written, or the values of a mapping.
func (v *Value) Elements() []*Value { return v.list }

// hostValue is a value that one host has.
type hostValue struct {
	value any
	err   error
}

// CompileValue compiles a node of any shape.
func CompileValue(d *Document, n *yaml.Node) (*Value, error) {
	v := &Value{Pos: d.At(n)}
	switch n.Kind {
	case yaml.MappingNode:
		v.isMap = true
		for i := 0; i+1 < len(n.Content); i += 2 {
			v.keys = append(v.keys, n.Content[i].Value)
			if err := v.child(d, n.Content[i+1]); err != nil {
				return nil, err
			}
		}
	case yaml.SequenceNode:
		for _, e := range n.Content {
			if err := v.child(d, e); err != nil {
				return nil, err
			}
		}
	case yaml.ScalarNode:
		return v, v.scalar(d, n)
	default:
		return nil, v.Pos.Errorf("cannot use this as a value")
	}
	v.isConstant = !slices.ContainsFunc(v.list, func(c *Value) bool { return !c.isConstant })
	if v.isConstant {
		v.constant, _ = v.assemble(nil)
	}
	return v, nil
}

func (v *Value) child(d *Document, n *yaml.Node) error {
	c, err := CompileValue(d, n)
	if err != nil {
		return err
	}
	v.list = append(v.list, c)
	v.refs.Merge(c.refs)
	return nil
}

func (v *Value) scalar(d *Document, n *yaml.Node) error {
	if n.ShortTag() == "!!str" && IsTemplate(n.Value) {
		text, err := CompileInterpolation(n.Value, d.Origin(n))
		if err != nil {
			return err
		}
		v.text, v.refs = text, text.refs
		return nil
	}
	v.isConstant = true
	if err := n.Decode(&v.constant); err != nil {
		return v.Pos.Errorf("cannot read the value: %v", err)
	}
	v.constant = jsontypes.Normalize(v.constant)
	return nil
}

// Refs returns the variables that the value may read.
func (v *Value) Refs() Refs { return v.refs }

// Eval evaluates the value for the host of vars.
func (v *Value) Eval(vars map[string]any) (any, error) {
	switch {
	case v.isConstant:
		return v.constant, nil
	case v.text != nil:
		return v.text.Value(vars)
	case v.perHost != nil:
		host, _ := vars["host"].(map[string]any)
		name, _ := host["name"].(string)
		mine, ok := v.perHost[name]
		if !ok {
			return nil, v.Pos.Errorf("the loop has no such item for %s", name)
		}
		return mine.value, mine.err
	}
	return v.assemble(vars)
}

func (v *Value) assemble(vars map[string]any) (any, error) {
	items := make([]any, len(v.list))
	for i, c := range v.list {
		item, err := c.Eval(vars)
		if err != nil {
			return nil, err
		}
		items[i] = item
	}
	if !v.isMap {
		return items, nil
	}
	m := make(map[string]any, len(items))
	for i, k := range v.keys {
		m[k] = items[i]
	}
	return m, nil
}
