package lang

import (
	"strings"
)

// ConditionsHold evaluates conditions in their scopes; reason is the first that does not
// hold.
func ConditionsHold(when []*Expr, scopes []*Scope, vars *Vars) (ok bool, reason string, err error) {
	if len(when) == 0 {
		return true, "", nil
	}
	defer vars.PopTo(vars.Depth())
	var needed Refs
	for _, e := range when {
		needed.Merge(e.refs)
	}
	if err := vars.PushScope(scopes, needed); err != nil {
		return false, "", err
	}
	var failed *Expr
	ok, failed, err = FirstFalse(when, vars.values)
	if err != nil || ok {
		return ok, "", err
	}
	return false, failed.Src, nil
}

// Sources returns conditions as they are written, joined by "and".
func Sources(conditions []*Expr) string {
	var out []string
	for _, c := range conditions {
		out = append(out, c.Src)
	}
	return strings.Join(out, " and ")
}

// FirstFalse evaluates conditions that must all hold, in order, up to the first that does
// not hold, which it returns.
func FirstFalse(conditions []*Expr, vars map[string]any) (bool, *Expr, error) {
	for _, c := range conditions {
		ok, err := c.Bool(vars)
		if err != nil || !ok {
			return false, c, err
		}
	}
	return true, nil, nil
}
