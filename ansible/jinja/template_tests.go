package jinja

import (
	"slices"
	"strconv"
)

// test prints `x is name(args)`.
func (w *templatePrinter) test(t test) string {
	switch t.name {
	case "defined", "undefined":
		out := w.defined(bare(t.of))
		if out == "" {
			return w.expr(t)
		}
		if t.name == "undefined" {
			return fn("not", out)
		}
		return out
	case "failed", "changed", "skipped":
		return w.member(w.value(t.of), text(t.name))
	case "equalto", "eq":
		if arg := t.args.at(0, ""); arg != nil {
			return w.binary(binary{"==", t.of, arg})
		}
	case "in":
		if arg := t.args.at(0, ""); arg != nil {
			return w.binary(binary{"in", t.of, arg})
		}
	}
	return w.expr(t)
}

// defined prints a test for a variable; an empty text for another value.
func (w *templatePrinter) defined(n node) string {
	v, ok := n.(name)
	switch {
	case !ok:
		return ""
	case slices.Contains(w.locals, string(v)):
		return "true"
	}
	if ours, err := special(v); ours != "" || err != nil {
		return ""
	}
	return fn("hasKey", w.root(), strconv.Quote(string(v)))
}
