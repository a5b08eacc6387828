package taskargs

import (
	"reflect"

	"gopkg.in/yaml.v3"

	"deployer/engine/exprarg"
	"deployer/engine/lang"
)

// isExpressions reports whether an argument is expressions itself, as opposed to texts that
// contain them.
func isExpressions(t reflect.Type) bool {
	return isComputed(t) || deref(t) == reflect.TypeFor[exprarg.Conditions]()
}

func isComputed(t reflect.Type) bool { return deref(t) == reflect.TypeFor[exprarg.Value]() }

// compileExpressions compiles an argument that is expressions.
func (a *Args) compileExpressions(n *yaml.Node, t reflect.Type, errs *[]error) *argNode {
	items := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode && !isComputed(t) {
		items = n.Content
	}
	out := &argNode{node: n, exprs: []*lang.Expr{}, computed: isComputed(t)}
	for _, item := range items {
		if item.Kind != yaml.ScalarNode {
			continue // the type of the argument says what it wants
		}
		e, err := lang.CompileExpr(item.Value, a.doc.Origin(item))
		if err != nil {
			*errs = append(*errs, err)
			continue
		}
		out.exprs = append(out.exprs, e)
		a.refs.Merge(e.Refs())
	}
	return out
}

// eval evaluates the expressions for a host, in the form that exprarg.Value and
// exprarg.Conditions decode.
func (n *argNode) eval(vars map[string]any) (*yaml.Node, error) {
	var made any
	var err error
	if n.computed {
		c := exprarg.Value{Expression: n.exprs[0].Src}
		c.Is, err = n.exprs[0].Eval(vars)
		made = c
	} else {
		made, err = n.evalConditions(vars)
	}
	if err != nil {
		return nil, err
	}
	out := &yaml.Node{}
	if err := out.Encode(made); err != nil {
		return nil, n.exprs[0].Pos.Errorf("expression %q: %v", n.exprs[0].Src, err)
	}
	return n.withPosition(out), nil
}

// evalConditions evaluates conditions up to the first that does not hold: the conditions
// behind it may count on it, as in `when`.
func (n *argNode) evalConditions(vars map[string]any) (exprarg.Conditions, error) {
	var out exprarg.Conditions
	for _, e := range n.exprs {
		holds, err := e.Bool(vars)
		if err != nil {
			return nil, err
		}
		v := exprarg.Verdict{Expression: e.Src, Place: e.Pos.String(), Holds: holds}
		if !holds {
			v.Saw = e.Explain(vars)
		}
		if out = append(out, v); !holds {
			break
		}
	}
	return out, nil
}
