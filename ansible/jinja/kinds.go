package jinja

import "slices"

// Kind is the kind of an expression's value, as far as it is known.
type Kind int

// The kinds of values; KindUnknown is any.
const (
	KindUnknown Kind = iota
	KindText
	KindInt
	KindFloat
	KindBool
	KindNull
	KindList
	KindMapping
)

// kindOf returns the kind of the value of an expression.
func (t Translator) kindOf(n node) Kind {
	switch v := n.(type) {
	case grouped:
		return t.kindOf(v.x)
	case text:
		return KindText
	case literal:
		return literalKind(string(v))
	case list:
		return KindList
	case dict:
		return KindMapping
	case test:
		return KindBool
	case unary:
		if v.op == "not" {
			return KindBool
		}
		return t.kindOf(v.x)
	case binary:
		return t.binaryKind(v)
	case choice:
		return common(t.kindOf(v.then), t.kindOf(v.other))
	case filter:
		return t.filterKind(v)
	case slice:
		return t.kindOf(v.of)
	case call:
		return methodKinds[v.name]
	case name, field:
		return t.pathKind(n)
	}
	return KindUnknown
}

func literalKind(s string) Kind {
	switch s {
	case "true", "false":
		return KindBool
	case "nil":
		return KindNull
	}
	if slices.Contains([]byte(s), '.') {
		return KindFloat
	}
	return KindInt
}

func common(a, b Kind) Kind {
	if a == b {
		return a
	}
	return KindUnknown
}

func (t Translator) binaryKind(b binary) Kind {
	x, y := t.kindOf(b.a), t.kindOf(b.b)
	switch b.op {
	case "==", "!=", "<", "<=", ">", ">=", "in":
		return KindBool
	case "~":
		return KindText
	case "/":
		return KindFloat
	case "and", "or":
		return common(x, y)
	}
	switch {
	case x == KindText && b.op == "%", x == KindText && y == KindText:
		return KindText
	case x == KindFloat || y == KindFloat:
		return KindFloat
	case x == KindList || y == KindList:
		return KindList
	}
	return common(x, y)
}

func (t Translator) filterKind(f filter) Kind {
	switch f.name {
	case "default", "d":
		if k := t.kindOf(f.of); k != KindUnknown && k != KindNull {
			return common(k, t.kindOf(f.args.at(0, "default_value")))
		}
		return KindUnknown
	case "ternary":
		return common(t.kindOf(f.args.at(0, "true_val")), t.kindOf(f.args.at(1, "false_val")))
	case "regex_search":
		if len(f.args.list) > 1 {
			return KindList
		}
		return KindUnknown
	case "mandatory", "abs":
		return t.kindOf(f.of)
	case "round":
		return KindFloat
	}
	return exprFilters[f.name].kind
}

// methodKinds are the kinds of the results of methods and functions.
var methodKinds = map[string]Kind{
	"startswith": KindBool, "endswith": KindBool, "split": KindList, "splitlines": KindList, "keys": KindList, "values": KindList, "items": KindList, "range": KindList,
	"strip": KindText, "lower": KindText, "upper": KindText, "join": KindText, "replace": KindText, "capitalize": KindText, "find": KindInt,
}

// pathKind returns the kind of a variable or of one of its fields.
func (t Translator) pathKind(n node) Kind {
	if f, ok := n.(field); ok {
		switch f.key {
		case text("stdout_lines"), text("stderr_lines"):
			return KindList
		case text("stdout"), text("stderr"):
			return KindText
		case text("rc"):
			return KindInt
		case text("changed"), text("failed"), text("skipped"):
			return KindBool
		}
		if inner, ok := f.of.(field); ok && inner.key == text("stat") && slices.Contains([]node{text("exists"), text("isdir"), text("isreg"), text("islnk")}, f.key) {
			return KindBool
		}
		if f.of == name("loop") {
			return loopKinds[f.key]
		}
	}
	if s, ok := n.(name); ok && s == "group_names" {
		return KindList
	}
	if f, ok := n.(field); ok && f.of == name("groups") {
		return KindList
	}
	parts, ok := path(n)
	if !ok || t.KindOf == nil {
		return KindUnknown
	}
	return t.KindOf(parts)
}

var loopKinds = map[node]Kind{
	text("index"): KindInt, text("index0"): KindInt, text("length"): KindInt, text("first"): KindBool, text("last"): KindBool,
}

// MayBeList reports whether the value of a text that is one {{ }} may be a list.
func (t Translator) MayBeList(src string) bool {
	if !isSingle(src) {
		return false
	}
	n, err := parse(inside(src))
	if err != nil {
		return true
	}
	k := t.kindOf(n)
	return k == KindUnknown || k == KindList
}
