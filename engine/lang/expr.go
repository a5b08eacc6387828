package lang

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/vm"

	"deployer/engine/lang/dialect"
	"deployer/strictyaml"
)

// Expr is a compiled expression of the expr language (https://expr-lang.org) with the
// syntax of package dialect: a condition, a loop, a throttle, or the content of {{ }} in a
// text. A name or a key that does not exist is an error, except to the left of ??, in a?.b
// and before | default. Expr is safe for concurrent use.
type Expr struct {
	Src  string
	Pos  strictyaml.Pos
	orig Origin
	// whole is the text around the expression, which begins at the byte offset.
	whole    string
	offset   int
	texted   bool // the expression stands in {{ }}
	read     dialect.Source
	prog     *vm.Program
	refs     Refs
	definite []VarUse
	fallback *int // the value of a throttle that cannot be computed; see WithFallback
	simple   bool // the expression is a path of names
}

// CompileExpr compiles an expression that stands outside of a text, such as a condition.
// Expressions in {{ }} are an error with advice.
func CompileExpr(src string, orig Origin) (*Expr, error) {
	e := &Expr{Src: src, Pos: orig.Start, orig: orig, whole: src}
	if strings.Contains(src, "{{") {
		advice := ConditionAdvice(src)
		if advice == "" {
			advice = ": " + src
		}
		return nil, orig.Start.Errorf("want an expression without {{ }}%s", advice)
	}
	return e.compiled()
}

// compiled compiles the expression and returns it, or the error.
func (e *Expr) compiled() (*Expr, error) {
	if err := e.compile(); err != nil {
		return nil, err
	}
	return e, nil
}

// compileIn compiles the expression in {{ }} that begins at an offset of a text.
func compileIn(src string, t *Interpolation, offset int) (*Expr, error) {
	e := &Expr{Src: src, Pos: t.at(offset), orig: t.orig, whole: t.src, offset: offset, texted: true}
	if err := notExpression(src); err != nil {
		return nil, e.Pos.Errorf("template: %v", err)
	}
	return e.compiled()
}

func (e *Expr) compile() error {
	err := rejectComment(e.Src)
	if err != nil {
		return e.wrap(err)
	}
	if e.read, err = language.Rewrite(e.Src); err != nil {
		return e.wrap(err)
	}
	strict, err := newStrictness(e.read.Text)
	if err != nil {
		return e.wrap(err)
	}
	e.refs, e.simple = strict.refs, strict.isPath
	for _, id := range strict.definite {
		e.definite = append(e.definite, VarUse{Name: id.Value, Pos: e.at(id.Location().From), Source: e.shown()})
	}
	options := append(slices.Concat(orderedCalls(), boundedCalls()), expr.Patch(strict), expr.DisableBuiltin("now"), expr.Function(getName, get), expr.Function(getHostVarName, getHostVar), expr.Function(tryName, try), expr.Function(hasName, has), expr.Function(inName, in, new(func(any, any) bool)),
		expr.Function(truthyName, truthy), expr.Function(boundedJSONName, fromJSONExpr), expr.Function(versionName, versionCompareExpr, new(func(any, any) int)))
	reads, err := e.lookups(strict)
	if err != nil {
		return err
	}
	options = slices.Concat(options, reads, strict.functions())
	e.prog, err = expr.Compile(e.read.Text, options...)
	if err != nil {
		return e.wrap(err)
	}
	return nil
}

// at returns the place in the file of a rune of the expression as the parser reads it.
func (e *Expr) at(read int) strictyaml.Pos {
	runes := []rune(e.Src)
	written := min(e.read.Origin(read), len(runes))
	return e.orig.within(e.whole, e.offset+len(string(runes[:written])))
}

// shown returns the expression as errors quote it.
func (e *Expr) shown() string {
	if e.texted {
		return "template {{ " + e.Src + " }}"
	}
	return fmt.Sprintf("expression %q", e.Src)
}

// isPath reports whether the expression is a path of names, as in a.b.c, that contains no
// keyword of the language.
func (e *Expr) isPath() bool { return e.simple }

// Refs returns the variables that the expression may read.
func (e *Expr) Refs() Refs { return e.refs }

// Eval evaluates the expression. An error has the place in the file.
func (e *Expr) Eval(vars map[string]any) (any, error) {
	v, err := expr.Run(e.prog, vars)
	if err != nil {
		return nil, e.wrap(err)
	}
	return v, nil
}

// Bool evaluates a condition. A value other than true and false is an error.
func (e *Expr) Bool(vars map[string]any) (bool, error) {
	v, err := e.Eval(vars)
	if err != nil {
		return false, err
	}
	b, ok := v.(bool)
	if !ok {
		return false, e.Pos.Errorf("condition %q gives %s, want true or false", e.Src, Describe(v))
	}
	return b, nil
}

// Int evaluates a whole number. Fractions are dropped, as 7/2 gives 3.5.
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
	return 0, e.Pos.Errorf("%q gives %s, want a whole number", e.Src, Describe(v))
}

// wrap adds the place in the file, and advice where the expression looks like Jinja, to an
// error of the expr language.
func (e *Expr) wrap(err error) error {
	var fe *file.Error
	if !errors.As(err, &fe) {
		return withReason(e.Pos.Errorf("%s: %v", e.shown(), err), err)
	}
	msg := dialect.Shown(fe.Message)
	if strings.HasPrefix(msg, "interface conversion: ") && strings.HasSuffix(msg, ", not bool") {
		msg = "a condition is neither true nor false"
	}
	advice := ""
	if e.prog == nil && !strings.HasPrefix(msg, "unknown function") {
		if e.texted {
			advice = ValueAdvice(e.Src)
		} else {
			advice = cmp.Or(ConditionAdvice(e.Src), ValueAdvice(e.Src)) // a loop is a value
		}
	}
	return withReason(e.at(fe.From).Errorf("%s: %s%s", e.shown(), msg, advice), err)
}

// Describe returns a description of the type of a value, for errors.
func Describe(v any) string {
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

// DefiniteUses returns the variables that the expression reads on every host.
func (e *Expr) DefiniteUses() []VarUse { return e.definite }

// Fallback returns the number that stands for a throttle that cannot be computed;
// see WithFallback.
func (e *Expr) Fallback() (n int, ok bool) {
	if e.fallback == nil {
		return 0, false
	}
	return *e.fallback, true
}

// Origin returns the place that the expression was compiled for.
func (e *Expr) Origin() Origin { return e.orig }

// Number returns the expression that is n on every host.
func Number(n int) *Expr {
	e, err := CompileExpr(strconv.Itoa(n), Origin{})
	if err != nil {
		panic(err) // a number is an expression
	}
	return e
}

// WithFallback returns the same expression as a throttle that is n when it cannot be
// computed, because it reads a variable that no task has registered.
func (e *Expr) WithFallback(n int) *Expr {
	c := *e
	c.fallback = &n
	return &c
}
