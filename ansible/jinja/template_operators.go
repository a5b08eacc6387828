package jinja

import (
	"slices"
	"strconv"
)

func (w *templatePrinter) binary(b binary) string {
	if theirs, ok := bare(b.b).(text); ok && (b.op == "==" || b.op == "!=") {
		of := lowered(bare(b.a))
		ours, _ := special(of)
		switch {
		case lowerCase[ours]:
			return fn(comparing[b.op], w.from(ours), strconv.Quote(distributionName(ours, string(theirs))))
		case factName(of) == "architecture" && machines[string(theirs)] != "":
			return fn(comparing[b.op], w.from("facts.arch"), strconv.Quote(machines[string(theirs)]))
		}
	}
	a, c := w.value(b.a), w.value(b.b)
	if op, ok := comparing[b.op]; ok {
		if b.op == "==" || b.op == "!=" { // text/template fails on operands of two types
			a, c = w.beside(b.a, b.b), w.beside(b.b, b.a)
		}
		return fn(op, a, c)
	}
	switch b.op {
	case "in":
		if isText(b.b, "") || isList(bare(b.b)) {
			return fn("has", a, c)
		}
		if f, ok := bare(b.b).(field); ok && f.of == name("groups") || b.b == name("group_names") {
			return fn("has", a, c)
		}
		if _, constant := bare(b.b).(text); constant {
			return fn("contains", a, c)
		}
		return w.fail("`in` is has ITEM LIST, contains PART TEXT or hasKey MAPPING KEY, as the case may be")
	case "+":
		if isList(bare(b.a)) || isList(bare(b.b)) {
			return fn("concat", a, c)
		}
		if isTextual(b.a) || isTextual(b.b) {
			return fn("print", a, c)
		}
		return fn("add", a, c)
	case "~":
		return fn("print", a, c)
	case "**":
		return w.fail("there is no power here")
	}
	return fn(map[string]string{"-": "sub", "*": "mul", "/": "divf", "//": "div", "%": "mod"}[b.op], a, c)
}

// beside prints one operand of == or !=; beside a constant text it is converted to a
// text.
func (w *templatePrinter) beside(n, other node) string {
	if _, isText := bare(other).(text); !isText || isTextual(n) {
		return w.value(n)
	}
	if ours, _ := special(bare(n)); ours != "" {
		return w.value(n)
	}
	return fn("toString", w.value(n))
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
