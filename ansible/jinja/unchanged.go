package jinja

import (
	"regexp"
	"slices"
	"strings"

	"deployer/engine/lang/dialect"
)

// renamed matches the constants of Python that are spelled differently in deployer.
var (
	renamed = regexp.MustCompile(`\b(True|False|None|none)\b`)
	quoted  = regexp.MustCompile(`'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"`)
)

// unchanged reports whether an expression, as it is written, has the same meaning in
// deployer.
func unchanged(n node) bool {
	switch t := n.(type) {
	case nil, text, literal:
		return true
	case grouped:
		return unchanged(t.x)
	case name, field:
		return unchangedPath(n)
	case list:
		return allUnchanged(t)
	case dict:
		for _, p := range t {
			if _, constant := p.key.(text); !constant || !unchanged(p.value) {
				return false
			}
		}
		return true
	case unary:
		if t.op == "-" {
			_, constant := t.x.(literal)
			return constant
		}
		_, compared := t.x.(binary)
		return !compared && unchanged(t.x)
	case binary:
		return unchangedBinary(t)
	case filter:
		return unchangedFilter(t) && unchanged(t.of) && unchangedArguments(t.args)
	case test:
		return dialect.HasTest(t.name) && !slices.Contains([]string{"true", "false", "sameas", "float", "contains", "subset", "superset"}, t.name) && unchanged(t.of) && unchangedArguments(t.args)
	case choice:
		return isBool(t.cond) && unchanged(t.cond) && unchanged(t.then) && unchanged(t.other)
	case call:
		return t.of == nil && isLookup(t) && unchangedArguments(t.args)
	}
	return false
}

// unchangedFilter reports whether a filter and its arguments have the same names in
// deployer.
func unchangedFilter(f filter) bool {
	if _, signed := f.of.(unary); signed || !dialect.HasFilter(f.name) || f.name == "string" {
		return false
	}
	switch f.name {
	case "sum", "join", "lower", "upper":
		return len(f.args.list) <= 1 && (f.name != "sum" || len(f.args.list) == 0)
	case "default", "d":
		return !isConstant(f.of)
	case "map", "select", "reject", "selectattr", "rejectattr":
		return false
	}
	return true
}

func isConstant(n node) bool {
	_, isText := bare(n).(text)
	return isText
}

func allUnchanged(nodes []node) bool {
	for _, n := range nodes {
		if !unchanged(n) {
			return false
		}
	}
	return true
}

func unchangedArguments(a arguments) bool {
	for _, n := range a.named {
		if !unchanged(n) {
			return false
		}
	}
	return allUnchanged(a.list)
}

// isBool reports whether a condition is true or false, whatever its variables are; a
// condition of Jinja may be any value.
func isBool(n node) bool {
	switch t := n.(type) {
	case test:
		return true
	case grouped:
		return isBool(t.x)
	case unary:
		return t.op == "not" && isBool(t.x)
	case binary:
		switch t.op {
		case "and", "or":
			return isBool(t.a) && isBool(t.b)
		case "==", "!=", "<", "<=", ">", ">=":
			return true
		}
	}
	return false
}

func unchangedBinary(b binary) bool {
	switch b.op {
	case "and", "or":
		return isBool(b) && unchanged(b.a) && unchanged(b.b)
	case "==", "!=":
		if l, ok := bare(b.b).(literal); ok && literalKind(string(l)) == KindBool {
			return false
		}
		return unchanged(b.a) && unchanged(b.b)
	case "+":
		return !isList(b.a) && !isList(b.b) && unchanged(b.a) && unchanged(b.b)
	case "-", "*", "/", "<", "<=", ">", ">=":
		return unchanged(b.a) && unchanged(b.b)
	}
	return false
}

// unchangedPath reports whether a variable and its fields have the same names in
// deployer; facts, variables of other hosts and some fields of results do not.
func unchangedPath(n node) bool {
	if f, ok := n.(field); ok {
		switch key := f.key.(type) {
		case text:
			if key == "stdout_lines" || key == "stderr_lines" || key == "stat" {
				return false
			}
		case literal:
			return false // a.0 is a[0]
		default:
			if !unchanged(f.key) {
				return false
			}
		}
		return unchanged(f.of)
	}
	s := string(n.(name)) //nolint:forcetypeassert // the callers pass a name or field
	if ours, err := special(n); ours != "" || err != nil {
		return false
	}
	return s == "omit" || !strings.HasPrefix(s, "ansible_") && s != "hostvars" && s != "loop" && missingNames[s] == ""
}
