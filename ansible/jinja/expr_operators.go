package jinja

import (
	"strconv"
	"strings"
)

func (w *exprPrinter) binary(b binary) string {
	switch b.op {
	case "and", "or":
		return w.truth(b)
	case "in":
		return w.contains(b)
	case "~":
		return w.asText(b.a) + " + " + w.asText(b.b)
	case "//":
		return "int(" + w.tight(b.a) + " / " + w.tight(b.b) + ")"
	case "==", "!=":
		if out := w.fact(b); out != "" {
			return out
		}
	case "+":
		if isList(b.a) || isList(b.b) {
			return "concat(" + w.value(b.a) + ", " + w.value(b.b) + ")"
		}
	}
	return w.operand(b.a, b.op) + " " + b.op + " " + w.operand(b.b, b.op)
}

// operand prints an operand; a sum within a sum needs no parentheses.
func (w *exprPrinter) operand(n node, op string) string {
	if b, ok := n.(binary); ok && b.op == "+" && op == "+" {
		return w.binary(b)
	}
	return w.tight(n)
}

func (w *exprPrinter) asText(n node) string {
	switch t := n.(type) {
	case text:
		return w.value(t)
	case binary:
		if t.op == "~" {
			return w.binary(t)
		}
	}
	return "string(" + w.value(n) + ")"
}

// fact prints a comparison with a fact whose values have other names in deployer; it
// returns an empty text for other comparisons.
func (w *exprPrinter) fact(b binary) string {
	theirs, ok := bare(b.b).(text)
	if !ok {
		return ""
	}
	of := lowered(bare(b.a))
	if parts, _ := path(of); len(parts) > 1 && strings.TrimPrefix(parts[len(parts)-2], "ansible_") == "selinux" && parts[len(parts)-1] == "status" {
		is := (theirs == "enabled") == (b.op == "==")
		return "facts.selinux " + map[bool]string{true: "!=", false: "=="}[is] + ` "disabled"`
	}
	if factName(of) == "architecture" {
		if ours, ok := machines[string(theirs)]; ok {
			return "facts.arch " + b.op + " " + strconv.Quote(ours)
		}
	}
	ours, _ := special(of)
	if !lowerCase[ours] {
		return ""
	}
	return ours + " " + b.op + " " + strconv.Quote(distributionName(ours, string(theirs)))
}

// lowered strips the filter lower: the values of facts are in lower case.
func lowered(n node) node {
	if f, ok := n.(filter); ok && f.name == "lower" {
		return bare(f.of)
	}
	return n
}

// contains prints `a in b`.
func (w *exprPrinter) contains(b binary) string {
	a, op, c := w.membership(b)
	return a + " " + op + " " + c
}

// membership returns the operands and the operator of `a in b`: contains when b is
// certainly a text, otherwise in, which is right for lists and mappings.
func (w *exprPrinter) membership(b binary) (left, op, right string) {
	of := lowered(bare(b.a))
	if ours, _ := special(of); lowerCase[ours] {
		if names, ok := bare(b.b).(list); ok {
			return ours, "in", "[" + strings.Join(w.systems(ours, names), ", ") + "]"
		}
	}
	switch t := bare(b.b).(type) {
	case text:
		return w.value(t), "contains", w.tight(b.a)
	case field:
		if t.key == text("stdout") || t.key == text("stderr") || t.key == text("msg") || t.key == text("content") {
			return w.tight(t), "contains", w.tight(b.a)
		}
	}
	return w.tight(b.a), "in", w.tight(b.b)
}

// systems prints the names of distributions or families as facts have them.
func (w *exprPrinter) systems(fact string, names list) []string {
	out := make([]string, len(names))
	for i, n := range names {
		if theirs, ok := n.(text); ok {
			n = text(distributionName(fact, string(theirs)))
		}
		out[i] = w.value(n)
	}
	return out
}
