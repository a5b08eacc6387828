package jinja

import (
	"slices"
	"strconv"
)

func (w *templatePrinter) binary(b binary) string {
	switch b.op {
	case "and", "or":
		return fn(b.op, w.value(b.a), w.value(b.b))
	case "==", "!=":
		if out := w.equal(b); out != "" {
			return out
		}
	case "<", "<=", ">", ">=":
		// Of two values that are no numbers of one kind, the function fails.
		if _, constant := bare(b.b).(literal); constant && w.kindOf(b.b) == KindInt && w.isPath(b.a) {
			return fn(comparing[b.op], w.value(b.a), w.value(b.b))
		}
	case "in":
		if note := groupNote(b); note != "" {
			w.note("%s", note)
		}
		if isGroup(b.b) || b.b == name("group_names") {
			return fn("has", w.value(b.a), w.value(b.b))
		}
	case "+":
		if isTextual(b.a) && isTextual(b.b) {
			return fn("print", w.value(b.a), w.value(b.b))
		}
	case "~":
		if isTextual(b.a) && isTextual(b.b) {
			return fn("print", w.value(b.a), w.value(b.b))
		}
	}
	return w.expr(b)
}

// equal prints a comparison that cannot convert its operands: with a fact, or of a variable
// with a whole number, for which eq fails when the variable is of another kind. It returns
// an empty text for others.
func (w *templatePrinter) equal(b binary) string {
	if theirs, ok := bare(b.b).(text); ok && !w.isLocal(lowered(bare(b.a))) {
		of := lowered(bare(b.a))
		ours, _ := special(of)
		switch {
		case lowerCase[ours]:
			return fn(comparing[b.op], w.from(ours), strconv.Quote(distributionName(ours, string(theirs))))
		case factName(of) == "architecture" && machines[string(theirs)] != "":
			return fn(comparing[b.op], w.from("facts.arch"), strconv.Quote(machines[string(theirs)]))
		}
	}
	if w.kindOf(b.a) == KindText && w.kindOf(b.b) == KindText && w.isPath(b.a) {
		return fn(comparing[b.op], w.value(b.a), w.value(b.b))
	}
	if _, constant := bare(b.b).(literal); constant && w.kindOf(b.b) == KindInt && w.isPath(b.a) {
		return fn(comparing[b.op], w.value(b.a), w.value(b.b))
	}
	return ""
}

// isPath reports whether an expression is a variable or a field.
func (w *templatePrinter) isPath(n node) bool {
	_, ok := path(bare(n))
	return ok
}

var comparing = map[string]string{"and": "and", "or": "or", "==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}

// isTextual reports whether the value of an expression is certainly a text.
func isTextual(n node) bool {
	switch t := bare(n).(type) {
	case text:
		return true
	case binary:
		return t.op == "~" || t.op == "+" && (isTextual(t.a) || isTextual(t.b))
	case filter:
		return slices.Contains([]string{"string", "lower", "upper", "join", "trim", "replace"}, t.name)
	}
	return false
}
