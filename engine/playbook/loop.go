package playbook

import (
	"cmp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"deployer/strictyaml"
)

// Loop gives the items that a task is repeated for.
type Loop struct {
	Pos strictyaml.Pos
	// Var is the variable that holds the item, "item" unless said otherwise.
	// index is that of its position from 0; empty for none.
	Var, index string
	label      *Text
	list       *Value
	expr       *Expr
	refs       Refs
}

// rawLoopControl says how a loop is shown and what its variables are called.
type rawLoopControl struct {
	Label    yaml.Node `yaml:"label"`
	IndexVar string    `yaml:"index_var"`
	LoopVar  string    `yaml:"loop_var"`
}

// itemVar is the variable with the item of a loop.
const itemVar = "item"

// loopOf compiles the loop of a task, if it has one.
func (c *compiler) loopOf(x taskContext, raw *rawTask) *Loop {
	d := x.doc
	if raw.Loop.Kind == 0 {
		if key := raw.set["loop_control"]; key != nil {
			c.fail(d.at(key).Errorf("loop_control stands beside a loop, and there is none"))
		}
		return nil
	}
	l := c.compileLoop(d, &raw.Loop)
	if l == nil {
		return nil
	}
	l.Var, l.index = cmp.Or(raw.LoopControl.LoopVar, itemVar), raw.LoopControl.IndexVar
	l.label = c.text(d, &raw.LoopControl.Label, "label")
	control := valueOf(raw.node, "loop_control")
	for key, name := range map[string]string{"loop_var": raw.LoopControl.LoopVar, "index_var": l.index} {
		if slices.Contains(Reserved(), name) && (key != "loop_var" || name != itemVar) {
			c.fail(keyPos(d, control, key).Errorf("the variable %q belongs to the engine; choose another name", name))
		}
	}
	if l.Var == l.index && l.index != itemVar {
		c.fail(keyPos(d, control, "index_var").Errorf("loop_var and index_var are the same"))
	}
	for _, name := range []string{l.Var, l.index} {
		if outer, taken := x.loops[name]; taken && name != "" {
			c.fail(l.Pos.Errorf("the loop of the include at %s has %q already; call its item otherwise: loop_control: {loop_var: NAME}", outer, name))
		}
	}
	return l
}

// Push makes an item and its position, from 0, visible until the variables are
// left. They win over variables of the same name.
func (l *Loop) Push(vars *Vars, index int, item any) {
	vars.setFixed(l.Var, item)
	if l.index != "" {
		vars.setFixed(l.index, index)
	}
}

// perItem tells whether a value may differ from item to item.
func (l *Loop) perItem(refs Refs) bool {
	return refs.Has(l.Var) || l.index != "" && refs.Has(l.index)
}

func (c *compiler) compileLoop(d *document, n *yaml.Node) *Loop {
	l := &Loop{Pos: d.at(n)}
	switch n.Kind {
	case yaml.SequenceNode:
		v, err := compileValue(d, n)
		if err != nil {
			c.fail(err)
			return nil
		}
		l.list, l.refs = v, v.refs
	case yaml.ScalarNode:
		if strings.Contains(n.Value, "{{") {
			c.fail(l.Pos.Errorf("loop: an expression stands here by itself, without {{ }}%s", asValue(n.Value)))
			return nil
		}
		e, err := compileExpr(n.Value, d.origin(n))
		if err != nil {
			c.fail(err)
			return nil
		}
		l.expr, l.refs = e, e.refs
	default:
		c.fail(l.Pos.Errorf("loop: want a list, or an expression that gives one"))
		return nil
	}
	return l
}

// Items computes the items.
func (l *Loop) Items(vars map[string]any) ([]any, error) {
	var v any
	var err error
	if l.list != nil {
		v, err = l.list.Eval(vars)
	} else {
		v, err = l.expr.Eval(vars)
	}
	if err != nil {
		return nil, err
	}
	switch t := v.(type) {
	case []any:
		return t, nil
	case nil:
		return nil, nil
	}
	p, err := plain(v)
	if err != nil {
		return nil, err
	}
	if items, ok := p.([]any); ok {
		return items, nil
	}
	return nil, l.Pos.Errorf("loop: want a list, got %s", describe(v))
}
