package playbook

import (
	"gopkg.in/yaml.v3"

	"deployer/strictyaml"
)

// Loop gives the items that a task is repeated for.
type Loop struct {
	Pos  strictyaml.Pos
	list *Value
	expr *Expr
	refs Refs
}

func (c *compiler) compileLoop(d *document, n *yaml.Node) *Loop {
	l := &Loop{Pos: d.at(n)}
	switch n.Kind {
	case yaml.SequenceNode:
		v, err := compileValue(d, n, c.funcs)
		if err != nil {
			c.fail(err)
			return nil
		}
		l.list, l.refs = v, v.refs
	case yaml.ScalarNode:
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
