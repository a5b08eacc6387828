package jinja

import (
	"iter"
	"strings"
)

// exprPrinter prints expressions in the syntax of expr. err is the first part that has
// no equivalent; the result is then meaningless.
type exprPrinter struct{ err error }

func (w *exprPrinter) fail(format string, args ...any) string {
	if w.err == nil {
		w.err = fail(format, args...)
	}
	return ""
}

// isAtom reports whether a printed expression needs no parentheses as an operand.
func isAtom(s string) bool {
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

func (w *exprPrinter) negative(n node) string { return "-" + w.tight(n) }

func (w *exprPrinter) choice(c choice) string {
	cond := w.truth(c.cond)
	if !isAtom(cond) {
		cond = "(" + cond + ")"
	}
	return cond + " ? " + w.tight(c.then) + " : " + w.tight(c.other)
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

func (w *exprPrinter) slice(s slice) string {
	from, to := "", ""
	if s.from != nil {
		from = w.value(s.from)
	}
	if s.to != nil {
		to = w.value(s.to)
	}
	return w.tight(s.of) + "[" + from + ":" + to + "]"
}
