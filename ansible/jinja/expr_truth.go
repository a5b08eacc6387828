package jinja

// truth prints a condition. Jinja takes a list, text or number as true when it is not
// empty; expr needs a boolean, so the comparison is written out.
func (w *exprPrinter) truth(n node) string {
	switch t := n.(type) {
	case grouped:
		return "(" + w.truth(t.x) + ")"
	case unary:
		if t.op == "not" {
			return w.not(t.x)
		}
	case binary:
		if op, ok := map[string]string{"and": " && ", "or": " || "}[t.op]; ok {
			return w.side(t.a, t.op) + op + w.side(t.b, t.op)
		}
	case filter:
		if t.name == "length" || t.name == "count" {
			return w.value(t) + " > 0"
		}
	case field:
		if t.key == text("stdout") || t.key == text("stderr") {
			return w.value(t) + ` != ""`
		}
	case choice:
		return w.operandOf(t.cond) + " ? " + w.truth(t.then) + " : " + w.truth(t.other)
	}
	if k := w.kindOf(n); k != KindBool && k != KindUnknown || w.mayBeEmpty(n) {
		return w.tight(n) + " is truthy"
	}
	return w.value(n)
}

// mayBeEmpty reports whether a value has a default that is no condition.
func (w *exprPrinter) mayBeEmpty(n node) bool {
	f, ok := n.(filter)
	if !ok || f.name != "default" && f.name != "d" {
		return false
	}
	return w.kindOf(orText(f.args.at(0, "default_value"))) != KindBool
}

// operandOf prints a condition as an operand.
func (w *exprPrinter) operandOf(n node) string {
	out := w.truth(n)
	if isAtom(out) {
		return out
	}
	return "(" + out + ")"
}

// side prints an operand of and/or; an operand with the other operator is put in
// parentheses.
func (w *exprPrinter) side(n node, op string) string {
	out := w.truth(n)
	switch t := n.(type) {
	case binary:
		if (t.op == "and" || t.op == "or") && t.op != op {
			return "(" + out + ")"
		}
	case choice:
		return "(" + out + ")"
	}
	return out
}

func (w *exprPrinter) not(n node) string {
	switch t := bare(n).(type) {
	case binary:
		if t.op == "in" {
			a, op, c := w.membership(t)
			if op == "contains" {
				return "!(" + a + " contains " + c + ")"
			}
			return a + " not in " + c
		}
	case test:
		if t.name == "in" {
			return w.not(binary{"in", t.of, t.args.at(0, "")})
		}
		if opposite, ok := map[string]string{"defined": "undefined", "undefined": "defined"}[t.name]; ok {
			return w.test(test{t.of, opposite, t.args})
		}
		if t.name == "none" || t.name == "null" {
			return w.tight(t.of) + " != nil"
		}
	case filter:
		if t.name == "length" || t.name == "count" {
			return w.value(t) + " == 0"
		}
	}
	switch t := bare(n).(type) {
	case test, field, filter:
		n = t
	}
	out := w.truth(n)
	if _, atom := n.(grouped); atom || isAtom(out) {
		return "!" + out
	}
	return "!(" + out + ")"
}
