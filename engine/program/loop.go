package program

import (
	"deployer/engine/lang"
	"deployer/strictyaml"
)

// Loop gives the items for which a task is repeated.
type Loop struct {
	Pos strictyaml.Pos
	// Var is the variable that holds the item, "item" by default. IndexVar holds its
	// position from 0; empty for none.
	Var, IndexVar string
	Label         *lang.Text
	List          *lang.Value
	Expr          *lang.Expr
	Refs          lang.Refs
}

// SetItem sets the variables of an item and of its position, from 0, until the caller pops
// them. These variables have precedence over all others of their names.
func (l *Loop) SetItem(vars *lang.Vars, index int, item any) {
	vars.SetFixed(l.Var, item)
	if l.IndexVar != "" {
		vars.SetFixed(l.IndexVar, index)
	}
}

// PerItem reports whether refs contain the item or its position.
func (l *Loop) PerItem(refs lang.Refs) bool {
	return refs.Has(l.Var) || l.IndexVar != "" && refs.Has(l.IndexVar)
}

// Items evaluates the list. A null list has no items.
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
