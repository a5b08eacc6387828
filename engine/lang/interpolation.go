package lang

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"deployer/engine/lang/dialect"
	"deployer/jsontypes"
	"deployer/strictyaml"
)

// language has the functions that expressions may call.
var language = dialect.New(functions())

// Interpolation is a compiled text of a playbook, a role or an inventory: literals, and
// expressions in {{ }}. A name that does not exist is an error with its place. Interpolation is safe
// for concurrent use.
type Interpolation struct {
	orig     Origin
	src      string
	pieces   []piece
	refs     Refs
	definite []VarUse // variables that are read on every host
}

// piece is a literal or an expression.
type piece struct {
	literal string
	expr    *Expr
	path    []string // of an expression that is a path of names
}

// IsTemplate reports whether a text contains expressions.
func IsTemplate(s string) bool { return dialect.IsText(s) }

var plainPath = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*$`)

// CompileInterpolation compiles a text. The error holds the errors of all expressions in
// it.
func CompileInterpolation(src string, orig Origin) (*Interpolation, error) {
	t := &Interpolation{orig: orig, src: src}
	parts, err := dialect.Split(src)
	var wrong *dialect.TextError
	if errors.As(err, &wrong) {
		return nil, t.at(wrong.Offset).Errorf("template: %s%s", wrong.Msg, textAdvice(src, wrong.Offset))
	}
	var errs []error
	for _, p := range parts {
		if !p.Expr {
			t.pieces = append(t.pieces, piece{literal: p.Text})
			continue
		}
		e, err := compileIn(p.Text, t, p.Offset)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		made := piece{expr: e}
		if plainPath.MatchString(p.Text) && e.isPath() {
			made.path = strings.Split(p.Text, ".")
		}
		t.pieces = append(t.pieces, made)
		t.refs.Merge(e.refs)
		t.definite = append(t.definite, e.definite...)
	}
	return t, strictyaml.Join(errs...)
}

// at returns the place in the file of an offset, in bytes, into the text.
func (t *Interpolation) at(offset int) strictyaml.Pos { return t.orig.within(t.src, offset) }

// within returns the place of an offset, in bytes, into the text.
func (o Origin) within(text string, offset int) strictyaml.Pos {
	before := text[:min(offset, len(text))]
	line := strings.Count(before, "\n")
	return o.at(line+1, len([]rune(before[strings.LastIndexByte(before, '\n')+1:])))
}

// Refs returns the variables that the text may read.
func (t *Interpolation) Refs() Refs { return t.refs }

// Single reports whether the text is one expression and nothing else, so that its value
// keeps its type.
func (t *Interpolation) Single() bool { return len(t.pieces) == 1 && t.pieces[0].expr != nil }

// maxTextBytes is the maximum size of a text that expressions make: it is held in memory
// for each host of a run.
const maxTextBytes = 64 << 20

// Text renders the text.
func (t *Interpolation) Text(vars map[string]any) (string, error) {
	var b strings.Builder
	for i := range t.pieces {
		p := &t.pieces[i]
		if p.expr == nil {
			b.WriteString(p.literal)
			continue
		}
		v, err := p.eval(vars)
		if err != nil {
			return "", err
		}
		s, err := printed(v)
		if err != nil {
			return "", withReason(p.expr.Pos.Errorf("%s: %v", p.expr.shown(), err), err)
		}
		if b.Len()+len(s) > maxTextBytes {
			return "", p.expr.tooLong()
		}
		b.WriteString(s)
	}
	return b.String(), nil
}

func printed(v any) (string, error) {
	v, err := ToVariable(v)
	if err != nil {
		return "", err
	}
	return dialect.Print(v)
}

func (p *piece) eval(vars map[string]any) (any, error) {
	if p.path != nil {
		if v, found := lookup(vars, p.path); found {
			return v, nil
		}
	}
	return p.expr.Eval(vars)
}

// Value evaluates the text and keeps the type when the text is one expression.
func (t *Interpolation) Value(vars map[string]any) (any, error) {
	if !t.Single() {
		return t.Text(vars)
	}
	v, err := t.pieces[0].eval(vars)
	if err != nil {
		return nil, err
	}
	if v, err = ToVariable(v); err != nil {
		return nil, withReason(t.orig.Start.Errorf("%s: %v", t.pieces[0].expr.shown(), err), err)
	}
	switch made := v.(type) {
	case float64:
		return jsontypes.Normalize(made), nil // 8 / 2 becomes a whole number
	case string:
		if len(made) > maxTextBytes {
			return nil, t.pieces[0].expr.tooLong()
		}
	case []any, map[string]any: // a plain path is a value of a variable, which was checked
		if t.pieces[0].path != nil {
			return v, nil
		}
		if err := dialect.BoundValue(v, 0); err != nil {
			return nil, t.pieces[0].expr.Pos.Errorf("%s: %v", t.pieces[0].expr.shown(), err)
		}
	}
	return v, nil
}

func (e *Expr) tooLong() error {
	return e.Pos.Errorf("%s: the text is longer than %d MiB", e.shown(), maxTextBytes>>20)
}

// ToVariable converts the result of an expression to the types that variables have.
func ToVariable(v any) (any, error) {
	switch t := v.(type) {
	case nil, string, bool, int, float64, map[string]any, []any:
		return t, nil
	case int64:
		return int(t), nil
	case []string:
		out := make([]any, len(t))
		for i, s := range t {
			out[i] = s
		}
		return out, nil
	}
	text, err := toJSON(v)
	if err != nil {
		return nil, fmt.Errorf("cannot use a %T as a value: %w", v, err)
	}
	return decodeJSON(text)
}

// lookup follows a path of names through mappings.
func lookup(vars map[string]any, path []string) (any, bool) {
	var at any = vars
	for _, step := range path {
		m, ok := at.(map[string]any)
		if !ok {
			return nil, false
		}
		if at, ok = m[step]; !ok {
			return nil, false
		}
	}
	_, unknown := at.(unknownVar) // whose error get returns
	return at, !unknown
}

// DefiniteUses returns the variables that the text reads on every host.
func (t *Interpolation) DefiniteUses() []VarUse { return t.definite }

// Pos returns the place of the text.
func (t *Interpolation) Pos() strictyaml.Pos { return t.orig.Start }

// Source returns the text as written.
func (t *Interpolation) Source() string { return t.src }
