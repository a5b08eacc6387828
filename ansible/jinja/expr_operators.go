package jinja

import (
	"strconv"
	"strings"
)

func (w *exprPrinter) binary(b binary) string {
	switch b.op {
	case "and", "or":
		return w.either(b)
	case "in":
		return w.contains(b)
	case "~":
		return w.asText(b.a) + " + " + w.asText(b.b)
	case "//":
		return "int(floor(" + w.tight(b.a) + " / " + w.tight(b.b) + "))"
	case "%":
		return w.modulo(b)
	case "==", "!=":
		if out := w.fact(b); out != "" {
			return out
		}
		if out := w.compareBool(b); out != "" {
			return out
		}
	case "+":
		if w.kindOf(b.a) == KindList || w.kindOf(b.b) == KindList {
			return "concat(" + w.value(b.a) + ", " + w.value(b.b) + ")"
		}
	}
	return w.operand(b.a, b.op) + " " + b.op + " " + w.operand(b.b, b.op)
}

// either prints and and or, whose value in Jinja is one of the operands.
func (w *exprPrinter) either(b binary) string {
	if isBool(b.a) && isBool(b.b) || w.condition {
		return w.truth(b)
	}
	if w.kindOf(b.a) == KindBool && w.kindOf(b.b) == KindBool {
		return w.truth(b)
	}
	if b.op == "and" {
		return w.operandOf(b.a) + " ? " + w.tight(b.b) + " : " + w.tight(b.a)
	}
	return w.operandOf(b.a) + " ? " + w.tight(b.a) + " : " + w.tight(b.b)
}

// modulo prints the remainder of whole numbers, which has the sign of the divisor in
// Jinja and that of the dividend here.
func (w *exprPrinter) modulo(b binary) string {
	if w.kindOf(b.a) == KindText {
		return w.fail("%% formats a text: write the parts with {{ }}")
	}
	of, by := w.tight(b.a), w.tight(b.b)
	if _, loop := bare(b.a).(field); loop && w.kindOf(b.a) == KindInt {
		return of + " % " + by
	}
	return "(" + of + " % " + by + " + " + by + ") % " + by
}

// compareBool prints a comparison with true or false, to which 1 and 0 are equal; empty for
// other comparisons.
func (w *exprPrinter) compareBool(b binary) string {
	truth, ok := bare(b.b).(literal)
	if !ok || literalKind(string(truth)) != KindBool || w.kindOf(b.a) == KindBool {
		return ""
	}
	number := map[literal]string{"true": "1", "false": "0"}[truth]
	return w.tight(b.a) + map[string]string{"==": " in ", "!=": " not in "}[b.op] + "[" + string(truth) + ", " + number + "]"
}

// operand prints an operand; a sum within a sum needs no parentheses.
func (w *exprPrinter) operand(n node, op string) string {
	if b, ok := n.(binary); ok && b.op == "+" && op == "+" {
		return w.binary(b)
	}
	return w.tight(n)
}

// asText prints a value as a text; Jinja writes True and False.
func (w *exprPrinter) asText(n node) string {
	switch t := n.(type) {
	case text:
		return w.value(t)
	case binary:
		if t.op == "~" {
			return w.binary(t)
		}
	}
	switch w.kindOf(n) {
	case KindBool:
		return "(" + w.operandOf(n) + ` ? "True" : "False")`
	case KindText:
		return w.tight(n)
	}
	w.checkPrinted(n)
	return "string(" + w.value(n) + ")"
}

const pythonForm = "a list or mapping in a text is printed as JSON, with sorted keys; Ansible prints it in Python's form"

// isStructure reports whether a value may well be a list or a mapping: decoded data or a
// part of it, or a value with such a default.
func isStructure(t Translator, n node) bool {
	switch v := bare(n).(type) {
	case field:
		return isStructure(t, v.of)
	case filter:
		if v.name == "default" || v.name == "d" {
			k := t.kindOf(orText(v.args.at(0, "default_value")))
			return k == KindList || k == KindMapping
		}
		return v.name == "from_json" || v.name == "from_yaml"
	}
	return false
}

// checkPrinted notes the kinds of values that are printed otherwise than in Ansible.
func (w *exprPrinter) checkPrinted(n node) {
	switch w.kindOf(n) {
	case KindUnknown:
		if isStructure(w.Translator, n) {
			w.note("%s", pythonForm)
		} else if !w.isLocal(n) {
			w.unsure(n)
		}
	case KindFloat:
		w.note("a number without a fraction is printed as 7; Ansible prints 7.0")
	case KindList, KindMapping:
		w.note("%s", pythonForm)
	case KindNull:
		w.note("null has no text here; Ansible prints nothing")
	}
}

// fact prints a comparison with a fact whose values have other names in deployer; it
// returns an empty text for other comparisons.
func (w *exprPrinter) fact(b binary) string {
	theirs, ok := bare(b.b).(text)
	if !ok {
		return ""
	}
	of := lowered(bare(b.a))
	if w.isLocal(of) {
		return ""
	}
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
	if note := groupNote(b); note != "" {
		w.note("%s", note)
	}
	of := lowered(bare(b.a))
	if ours, _ := special(of); lowerCase[ours] && !w.isLocal(of) {
		if names, ok := bare(b.b).(list); ok && allTexts(names) {
			return ours, "in", "[" + strings.Join(w.systems(ours, names), ", ") + "]"
		}
	}
	switch t := bare(b.b).(type) {
	case text:
		return w.value(t), "contains", w.tight(b.a)
	case field:
		if t.key == text("stdout") || t.key == text("stderr") {
			return w.tight(t), "contains", w.tight(b.a)
		}
	}
	return w.tight(b.a), "in", w.tight(b.b)
}

func allTexts(l list) bool {
	for _, n := range l {
		if _, ok := n.(text); !ok {
			return false
		}
	}
	return true
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
