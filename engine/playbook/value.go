package playbook

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"deployer/strictyaml"
)

// Scope is one layer of variables: of a play, a role, a block or a task.
type Scope struct {
	// Default marks a role's defaults, which the inventory wins over. All
	// other layers win over the inventory, inner ones over outer ones.
	Default bool
	// Param marks the parameters of a role or include, which win over what tasks
	// set.
	Param bool
	// loop marks the item of a loop at an include, which no other layer hides.
	loop  bool
	vars  map[string]*Value
	names []string
}

func joinArrow(path []string) string { return strings.Join(path, " -> ") }

// compileScope reads a mapping of variables. It returns nil when there is none.
func (c *compiler) compileScope(d *document, n *yaml.Node, isDefault bool) *Scope {
	if n == nil || n.Kind == 0 || n.ShortTag() == "!!null" {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		c.fail(d.at(n).Errorf("variables must be a mapping of names to values"))
		return nil
	}
	s := &Scope{Default: isDefault, vars: map[string]*Value{}}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if slices.Contains(Reserved(), key.Value) {
			c.fail(d.at(key).Errorf("the variable %q belongs to the engine; choose another name", key.Value))
			continue
		}
		if s.vars[key.Value] != nil {
			c.fail(d.at(key).Errorf("variable %q is given twice", key.Value))
			continue
		}
		value, err := compileValue(d, n.Content[i+1])
		if err != nil {
			c.fail(err)
			c.checkBelowUnknown(d, n.Content[i+1]) // for what else is wrong in it
			continue
		}
		s.vars[key.Value] = value
		s.names = append(s.names, key.Value)
	}
	return s
}

// params are the parameters of a role or include; nil when there are none.
func (c *compiler) params(d *document, n *yaml.Node) *Scope {
	s := c.compileScope(d, n, false)
	if s != nil {
		s.Param = true
	}
	return s
}

// Value is a YAML value of any shape that may have expressions in its texts. A
// text that is one expression keeps the type of its value: "{{ ports }}" is a list
// when ports is one.
type Value struct {
	Pos        strictyaml.Pos
	constant   any
	text       *Interpolation
	list       []*Value
	keys       []string
	refs       Refs
	isMap      bool
	isConstant bool
	// own is the value of each host; nil for any other kind of value.
	perHost map[string]hostValue
}

// hostValue is a value that one host has.
type hostValue struct {
	value any
	err   error
}

func compileValue(d *document, n *yaml.Node) (*Value, error) {
	v := &Value{Pos: d.at(n)}
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

func (v *Value) child(d *document, n *yaml.Node) error {
	c, err := compileValue(d, n)
	if err != nil {
		return err
	}
	v.list = append(v.list, c)
	v.refs.merge(c.refs)
	return nil
}

func (v *Value) scalar(d *document, n *yaml.Node) error {
	if n.ShortTag() == "!!str" && isTemplate(n.Value) {
		text, err := compileText(n.Value, d.origin(n))
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
	v.constant = Normalize(v.constant)
	return nil
}

// Refs are the variables that the value's templates look at.
func (v *Value) Refs() Refs { return v.refs }

// Eval computes the value.
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
