package jinja

import (
	"fmt"
	"iter"
	"slices"
	"strings"
)

// exprPrinter prints expressions in the syntax of expr. err is the first part that has
// no equivalent; the result is then meaningless.
type exprPrinter struct {
	Translator
	err   error
	notes []string // differences from Ansible
	// locals are variables of a template file, which hide those of the host.
	locals    []string
	condition bool // the whole expression is a condition
	template  bool // the expression stands in a template file
}

// note records a difference from Ansible.
func (w *exprPrinter) note(format string, args ...any) {
	if n := fmt.Sprintf(format, args...); !slices.Contains(w.notes, n) {
		w.notes = append(w.notes, n)
	}
}

// isLocal reports whether an expression is a variable of the template file, or a field of
// one.
func (w *exprPrinter) isLocal(n node) bool {
	switch t := bare(n).(type) {
	case name:
		return slices.Contains(w.locals, string(t))
	case field:
		return w.isLocal(t.of)
	}
	return false
}

func (w *exprPrinter) fail(format string, args ...any) string {
	if w.err == nil {
		w.err = fail(format, args...)
	}
	return ""
}

// isAtom reports whether a printed expression needs no parentheses as an operand.
func isAtom(s string) bool {
	if strings.HasPrefix(s, "-") || strings.HasPrefix(s, "!") {
		return false
	}
	depth := 0
	for _, c := range unquoted(s) {
		switch {
		case strings.IndexByte("([{", c) >= 0:
			depth++
		case strings.IndexByte(")]}", c) >= 0:
			depth--
		case c == ' ' && depth == 0:
			return false
		}
	}
	return true
}

// unquoted iterates over the bytes of a printed expression outside of quoted texts.
func unquoted(s string) iter.Seq2[int, byte] {
	return func(yield func(int, byte) bool) {
		quoted := false
		for i := 0; i < len(s); i++ {
			switch c := s[i]; {
			case quoted && c == '\\':
				i++
			case c == '"':
				quoted = !quoted
			case !quoted && !yield(i, c):
				return
			}
		}
	}
}

// tight prints a value as an operand, in parentheses where needed.
func (w *exprPrinter) tight(n node) string {
	out := w.value(n)
	if isAtom(out) {
		return out
	}
	return "(" + out + ")"
}

func (w *exprPrinter) value(n node) string { return printValue(w, n) }

func (w *exprPrinter) group(g grouped) string { return "(" + w.value(g.x) + ")" }

func (w *exprPrinter) list(l list) string { return "[" + w.all(l) + "]" }

func (w *exprPrinter) certainList(l certainList) string { return "map(" + outer(w.value(l.x)) + ", #)" }

func (w *exprPrinter) negative(n node) string { return "-" + w.tight(n) }

func (w *exprPrinter) choice(c choice) string {
	return w.operandOf(c.cond) + " ? " + w.tight(c.then) + " : " + w.tight(c.other)
}

func (w *exprPrinter) all(nodes []node) string {
	out := make([]string, len(nodes))
	for i, n := range nodes {
		out[i] = w.value(n)
	}
	return strings.Join(out, ", ")
}

func (w *exprPrinter) dict(d dict) string {
	out := make([]string, len(d))
	for i, p := range d {
		key := w.value(p.key)
		if _, constant := p.key.(text); !constant {
			key = "(" + key + ")"
		}
		out[i] = key + ": " + w.value(p.value)
	}
	return "{" + strings.Join(out, ", ") + "}"
}

// slice prints a part of a list, or the letters of a text.
func (w *exprPrinter) slice(s slice) string {
	from, to := "", ""
	if s.from != nil {
		from = w.value(s.from)
	}
	if s.to != nil {
		to = w.value(s.to)
	}
	of, part := w.tight(s.of), "["+from+":"+to+"]"
	letters := "join((" + of + " | list)" + part + ", \"\")"
	switch w.kindOf(s.of) {
	case KindList:
		return of + part
	case KindText:
		return letters
	}
	return "(type(" + w.value(s.of) + `) == "string" ? ` + letters + " : " + of + part + ")"
}
