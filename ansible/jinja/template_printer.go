package jinja

import (
	"fmt"
	"slices"
	"strings"
)

// templatePrinter prints actions of text/template. err is the first part that has no
// equivalent; the result is then meaningless.
type templatePrinter struct {
	Translator
	err    error
	notes  []string        // differences from Ansible
	locals []string        // variables of loops and set, innermost last
	depths map[string]int  // the number of loops around the definition of a local
	kinds  map[string]Kind // of locals
	// outside returns the kinds of variables other than locals.
	outside func(path []string) Kind
	index   string // the index variable of the innermost loop, empty without one
	of      string // the list of the innermost loop
	deep    bool   // inside of a loop, where the dot is not the root
}

// note records a difference from Ansible.
func (w *templatePrinter) note(format string, args ...any) {
	w.notes = append(w.notes, fmt.Sprintf(format, args...))
}

// localKinds returns a KindOf that knows the variables of the template.
func (w *templatePrinter) localKinds(outside func(path []string) Kind) func(path []string) Kind {
	w.outside = outside
	return func(path []string) Kind {
		switch {
		case slices.Contains(w.locals, path[0]) && len(path) == 1:
			return w.kinds[path[0]]
		case slices.Contains(w.locals, path[0]) || outside == nil:
			return KindUnknown
		}
		return outside(path)
	}
}

// isLocal reports whether an expression is a variable of the template, or a field of one.
func (w *templatePrinter) isLocal(n node) bool {
	return (&exprPrinter{locals: w.locals}).isLocal(n)
}

func (w *templatePrinter) dotted(name string) bool { return w.NeedsDot != nil && w.NeedsDot(name) }

func (w *templatePrinter) fail(format string, args ...any) string {
	if w.err == nil {
		w.err = fail(format, args...)
	}
	return ""
}

// pipe prints an expression as the content of an action: the outer parentheses are left
// out.
func (w *templatePrinter) pipe(n node) string {
	out := w.value(n)
	if strings.HasPrefix(out, "(") && closes(out) == len(out)-1 {
		return out[1 : len(out)-1]
	}
	return out
}

// closes returns the offset of the parenthesis that closes the first one; -1 without.
func closes(s string) int {
	depth := 0
	for i, c := range unquoted(s) {
		switch c {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// fn prints a call of a template function; the arguments have their parentheses already.
func fn(name string, args ...string) string { return "(" + name + " " + strings.Join(args, " ") + ")" }

func (w *templatePrinter) value(n node) string { return printValue(w, n) }

func (w *templatePrinter) group(g grouped) string { return w.value(bare(g)) }

func (w *templatePrinter) list(l list) string {
	if len(l) == 0 {
		return "list"
	}
	return fn("list", w.all(l)...)
}

func (w *templatePrinter) certainList(l certainList) string { return w.expr(l) }

func (w *templatePrinter) negative(n node) string {
	if _, constant := bare(n).(literal); constant {
		return "-" + w.value(n)
	}
	return w.expr(unary{"-", n})
}

func (w *templatePrinter) not(n node) string { return fn("not", w.value(n)) }

func (w *templatePrinter) choice(c choice) string {
	if constant(c.then) && constant(c.other) {
		return fn("ternary", w.value(c.then), w.value(c.other), w.truth(c.cond))
	}
	return w.expr(c) // ternary evaluates both values
}

func (w *templatePrinter) call(c call) string { return w.expr(c) }

// managed is the value of ansible_managed.
const managed = "Managed by deployer: changes are overwritten."

// branches prints a conditional expression. ternary evaluates both branches, so a branch
// that may fail becomes {{ if }}...{{ else }}...{{ end }}.
func (w *templatePrinter) branches(c choice) string {
	if t, ok := bare(c.cond).(test); ok && t.name == "defined" && samePath(t.of, c.then) {
		return w.printed(filter{t.of, "default", arguments{list: []node{c.other}}})
	}
	if constant(c.then) && constant(c.other) {
		return w.printed(c)
	}
	return "if " + w.pipe(c.cond) + " }}{{ " + w.printed(c.then) + " }}{{ else }}{{ " + w.printed(c.other) + " }}{{ end"
}

func samePath(a, b node) bool {
	left, ok := path(bare(a))
	right, good := path(bare(b))
	return ok && good && slices.Equal(left, right)
}

func constant(n node) bool {
	switch bare(n).(type) {
	case text, literal:
		return true
	}
	return false
}

// printed prints a value that the template writes, in the form that Jinja writes it.
func (w *templatePrinter) printed(n node) string {
	switch w.kindOf(n) {
	case KindUnknown:
		if isStructure(w.Translator, n) {
			w.note("%s", pythonForm)
		} else if !w.isLocal(n) {
			w.unsure(n)
		}
	case KindBool:
		return w.pipe(choice{n, text("True"), text("False")})
	case KindFloat:
		w.note("a number without a fraction is printed as 7; Ansible prints 7.0")
		return w.expression(n)
	case KindList, KindMapping:
		w.note("a list or mapping is printed otherwise; join its items, or print it with to_nice_json")
	case KindNull:
		w.note("null has no text here; Ansible prints nothing")
	}
	return w.pipe(n)
}

// expression prints a number as expr computes it.
func (w *templatePrinter) expression(n node) string {
	out := w.expr(n)
	return strings.TrimSuffix(strings.TrimPrefix(out, "("), ")")
}

// truth prints a condition for ternary, which accepts only booleans.
func (w *templatePrinter) truth(n node) string {
	switch t := bare(n).(type) {
	case test:
		return w.value(n)
	case filter:
		if t.name == "bool" {
			return w.value(n)
		}
	case call:
		if w.kindOf(t) == KindBool {
			return w.value(n)
		}
	case unary:
		if t.op == "not" {
			return w.value(n)
		}
	case binary:
		if t.op == "and" || t.op == "or" {
			if isBool(t) {
				return w.value(n)
			}
			break
		}
		if w.kindOf(n) == KindBool {
			return w.value(n)
		}
	}
	return fn("not", fn("empty", w.value(n)))
}

func (w *templatePrinter) all(nodes []node) []string {
	out := make([]string, len(nodes))
	for i, n := range nodes {
		out[i] = w.value(n)
	}
	return out
}

func (w *templatePrinter) dict(d dict) string {
	if len(d) == 0 {
		return "dict"
	}
	var args []string
	for _, p := range d {
		args = append(args, w.value(p.key), w.value(p.value))
	}
	return fn("dict", args...)
}

func (w *templatePrinter) slice(s slice) string { return w.expr(s) }
