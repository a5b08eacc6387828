package playbook

import (
	"errors"
	"fmt"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/vm"

	"deployer/strictyaml"
)

// Expr is a compiled expression of the expr language (https://expr-lang.org):
// a condition, a loop, a throttle. A name or a key that does not exist is an
// error, except to the left of ?? and in a?.b. It is safe for concurrent use.
type Expr struct {
	Src  string
	Pos  strictyaml.Pos
	orig origin
	prog *vm.Program
	refs Refs
	sure []sight
	or   *int // the number instead of an error; see Or
}

func compileExpr(src string, orig origin) (*Expr, error) {
	e := &Expr{Src: src, Pos: orig.start, orig: orig}
	if strings.Contains(src, "{{") {
		advice := asCondition(src)
		if advice == "" {
			advice = ": " + src
		}
		return nil, orig.start.Errorf("an expression stands here by itself, without {{ }}%s", advice)
	}
	strict, err := newStrictness(src)
	if err != nil {
		return nil, e.wrap(err)
	}
	e.refs = strict.refs
	for _, id := range strict.sure {
		at := file.Error{Location: id.Location()}
		bound := at.Bind(file.NewSource(src))
		e.sure = append(e.sure, sight{name: id.Value, pos: orig.at(bound.Line, bound.Column), what: fmt.Sprintf("expression %q", src)})
	}
	options := append(orderedCalls(), expr.Patch(strict), expr.DisableBuiltin("now"), expr.Function(getName, get), expr.Function(toldName, told), expr.Function(tryName, try),
		expr.Function(versionName, versionCompareExpr, new(func(any, any) int)))
	e.prog, err = expr.Compile(src, options...)
	if err != nil {
		return nil, e.wrap(err)
	}
	return e, nil
}

// Refs are the variables that the expression looks at.
func (e *Expr) Refs() Refs { return e.refs }

// Eval computes the expression; an error has the place in the file.
func (e *Expr) Eval(vars map[string]any) (any, error) {
	v, err := expr.Run(e.prog, vars)
	if err != nil {
		return nil, e.wrap(err)
	}
	return v, nil
}

// Bool computes a condition. A value that is not true or false is an error.
func (e *Expr) Bool(vars map[string]any) (bool, error) {
	v, err := e.Eval(vars)
	if err != nil {
		return false, err
	}
	b, ok := v.(bool)
	if !ok {
		return false, e.Pos.Errorf("condition %q gives %s, want true or false", e.Src, describe(v))
	}
	return b, nil
}

// Int computes a whole number; fractions are dropped, as 7/2 gives 3.5.
func (e *Expr) Int(vars map[string]any) (int, error) {
	v, err := e.Eval(vars)
	if err != nil {
		return 0, err
	}
	switch n := v.(type) {
	case int:
		return n, nil
	case int64:
		return int(n), nil
	case float64:
		return int(n), nil
	}
	return 0, e.Pos.Errorf("%q gives %s, want a whole number", e.Src, describe(v))
}

// wrap gives an error of the expr language its place in the file.
func (e *Expr) wrap(err error) error {
	var fe *file.Error
	if !errors.As(err, &fe) {
		return e.Pos.Errorf("expression %q: %v%s", e.Src, err, inText(err.Error()))
	}
	advice := inText(fe.Message)
	if e.prog == nil && advice == "" {
		advice = asCondition(e.Src)
	}
	return e.orig.at(fe.Line, fe.Column).Errorf("expression %q: %s%s", e.Src, fe.Message, advice)
}

// describe names a value's type for people.
func describe(v any) string {
	switch t := v.(type) {
	case nil:
		return "nothing"
	case string:
		return fmt.Sprintf("the text %q", t)
	case bool:
		return fmt.Sprintf("%v", t)
	case int, int64, float64:
		return fmt.Sprintf("the number %v", t)
	case []any:
		return "a list"
	case map[string]any:
		return "a mapping"
	}
	return fmt.Sprintf("a %T", v)
}

// allTrue computes conditions that must all hold, in order, up to the first
// that does not; it returns that one.
func allTrue(conditions []*Expr, vars map[string]any) (bool, *Expr, error) {
	for _, c := range conditions {
		ok, err := c.Bool(vars)
		if err != nil || !ok {
			return false, c, err
		}
	}
	return true, nil, nil
}
