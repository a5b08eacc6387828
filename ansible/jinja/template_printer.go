package jinja

import (
	"slices"
	"strings"
)

// templatePrinter prints actions of text/template. err is the first part that has no
// equivalent; the result is then meaningless.
type templatePrinter struct {
	// needsDot reports whether a variable's name is a function or keyword of text/template.
	needsDot func(name string) bool
	err      error
	locals   []string // variables of loops and set, innermost last
	index    string   // the index variable of the innermost loop, empty without one
	of       string   // the list of the innermost loop
	deep     bool     // inside of a loop, where the dot is not the root
}

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

func (w *templatePrinter) negative(n node) string { return fn("sub", "0", w.value(n)) }

func (w *templatePrinter) not(n node) string { return fn("not", w.value(n)) }

func (w *templatePrinter) choice(c choice) string {
	return fn("ternary", w.value(c.then), w.value(c.other), w.truth(c.cond))
}

// managed is the value of ansible_managed.
const managed = "Managed by deployer: changes are overwritten."

// branches prints a conditional expression. ternary evaluates both branches, so a branch
// that may fail becomes {{ if }}...{{ else }}...{{ end }}.
func (w *templatePrinter) branches(c choice) string {
	if t, ok := bare(c.cond).(test); ok && t.name == "defined" && samePath(t.of, c.then) {
		return w.pipe(filter{t.of, "default", arguments{list: []node{c.other}}})
	}
	if constant(c.then) && constant(c.other) {
		return w.pipe(c)
	}
	return "if " + w.pipe(c.cond) + " }}{{ " + w.pipe(c.then) + " }}{{ else }}{{ " + w.pipe(c.other) + " }}{{ end"
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

// truth prints a condition for ternary, which accepts only booleans.
func (w *templatePrinter) truth(n node) string {
	switch bare(n).(type) {
	case test, binary, unary:
		return w.value(n)
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

func (w *templatePrinter) slice(s slice) string {
	args := []string{w.value(s.of), "0"}
	if s.from != nil {
		args[1] = w.value(s.from)
	}
	if s.to != nil {
		args = append(args, w.value(s.to))
	}
	return fn("slice", args...)
}
