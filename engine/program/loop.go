package program

import (
	"deployer/engine/lang"
	"deployer/strictyaml"
)

// Loop gives the items that a task is repeated for.
type Loop struct {
	Pos strictyaml.Pos
	// Var is the variable that holds the item, "item" unless said otherwise.
	// index is that of its position from 0; empty for none.
	Var, IndexVar string
	Label         *lang.Text
	List          *lang.Value
	Expr          *lang.Expr
	Refs          lang.Refs
}

// SetItem makes an item and its position, from 0, visible until the variables are
// left. They win over variables of the same name.
func (l *Loop) SetItem(vars *lang.Vars, index int, item any) {
	vars.SetFixed(l.Var, item)
	if l.IndexVar != "" {
		vars.SetFixed(l.IndexVar, index)
	}
}

// PerItem tells whether a value may differ from item to item.
func (l *Loop) PerItem(refs lang.Refs) bool {
	return refs.Has(l.Var) || l.IndexVar != "" && refs.Has(l.IndexVar)
}

// Items computes the items.
func (l *Loop) Items(vars map[string]any) ([]any, error) {
	var v any
	var err error
	if l.List != nil {
		v, err = l.List.Eval(vars)
	} else {
		v, err = l.Expr.Eval(vars)
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
	p, err := lang.ToVariable(v)
	if err != nil {
		return nil, err
	}
	if items, ok := p.([]any); ok {
		return items, nil
	}
	return nil, l.Pos.Errorf("loop: want a list, got %s", lang.Describe(v))
}
