package program

import (
	"deployer/engine/lang"
)

// ThrottleLimit evaluates a throttle in the given scopes; 0 means no limit. A negative
// number is an error.
func ThrottleLimit(e *lang.Expr, scopes []*lang.Scope, vars *lang.Vars) (int, error) {
	defer vars.PopTo(vars.Depth())
	err := vars.PushScope(scopes, e.Refs())
	n := 0
	if err == nil {
		n, err = e.Int(vars.Map())
	}
	if fallback, ok := e.Fallback(); err != nil && ok {
		return fallback, nil
	}
	if err == nil && n < 0 {
		return 0, e.Pos.Errorf("throttle %q gives %d; want a number of hosts, or 0 for no limit", e.Src, n)
	}
	return n, err
}
