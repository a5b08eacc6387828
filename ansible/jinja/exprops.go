package jinja

import (
	"strconv"
	"strings"
)

func (w *exprs) binary(b binary) string {
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

// operand stands beside an operator: sums need no parentheses.
func (w *exprs) operand(n node, op string) string {
	if b, ok := n.(binary); ok && b.op == "+" && op == "+" {
		return w.binary(b)
	}
	return w.tight(n)
}

func (w *exprs) asText(n node) string {
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

// fact prints a comparison of a fact whose values are called otherwise here; ""
// for any other one.
func (w *exprs) fact(b binary) string {
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
	if !small[ours] {
		return ""
	}
	return ours + " " + b.op + " " + strconv.Quote(value(ours, string(theirs)))
}

// lowered is what `| lower` is of: facts have small letters anyhow.
func lowered(n node) node {
	if f, ok := n.(filter); ok && f.name == "lower" {
		return bare(f.of)
	}
	return n
}

// contains prints `a in b`.
func (w *exprs) contains(b binary) string {
	a, op, c := w.membership(b)
	return a + " " + op + " " + c
}

// membership takes `a in b` apart. In a text it is contains; of two names it is
// not known what they are, and `in` is right for lists.
func (w *exprs) membership(b binary) (left, op, right string) {
	of := lowered(bare(b.a))
	if ours, _ := special(of); small[ours] {
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

// systems are names of distributions or families, as they are called here.
func (w *exprs) systems(fact string, names list) []string {
	out := make([]string, len(names))
	for i, n := range names {
		if theirs, ok := n.(text); ok {
			n = text(value(fact, string(theirs)))
		}
		out[i] = w.value(n)
	}
	return out
}

// test prints `x is name(args)`.
func (w *exprs) test(t test) string {
	arg := t.args.at(0, "value")
	switch t.name {
	case "defined", "undefined":
		return w.defined(t)
	case "none", "null":
		return w.tight(t.of) + " == nil"
	case "failed", "changed", "skipped":
		return w.tight(t.of) + "." + t.name
	case "change", "skip":
		return w.tight(t.of) + "." + map[string]string{"change": "changed", "skip": "skipped"}[t.name]
	case "succeeded", "success", "successful":
		return "!" + w.tight(t.of) + ".failed"
	case "match":
		return w.tight(t.of) + " matches " + anchored(w.value(arg))
	case "search", "regex":
		return w.tight(t.of) + " matches " + w.value(arg)
	case "version", "version_compare":
		return w.version(t)
	case "in":
		return w.contains(binary{"in", t.of, arg})
	case "equalto", "eq", "sameas":
		return w.binary(binary{"==", t.of, arg})
	case "contains":
		return w.tight(arg) + " in " + w.tight(t.of)
	case "subset":
		return "all(" + w.value(t.of) + ", # in " + w.tight(arg) + ")"
	case "superset":
		return "all(" + w.value(arg) + ", # in " + w.tight(t.of) + ")"
	case "string", "mapping", "boolean", "sequence":
		return "type(" + w.value(t.of) + `) == "` + map[string]string{"string": "string", "mapping": "map", "boolean": "bool", "sequence": "array"}[t.name] + `"`
	case "true", "truthy":
		return w.truth(t.of)
	case "false", "falsy":
		return w.not(t.of)
	case "even", "odd":
		return w.tight(t.of) + " % 2 == " + map[string]string{"even": "0", "odd": "1"}[t.name]
	case "file", "exists", "directory", "link":
		return w.fail("`is %s` looks at the machine of Ansible; a task stat, with register and delegate_to: localhost, does that", t.name)
	}
	return w.fail("there is no test %q", t.name)
}

func anchored(pattern string) string {
	if s, ok := strings.CutPrefix(pattern, `"`); ok && !strings.HasPrefix(s, "^") {
		return `"^` + s
	}
	return pattern
}

// defined asks for a name in all variables, and for a field where there may be none.
func (w *exprs) defined(t test) string {
	of := bare(t.of)
	if n, ok := of.(name); ok {
		if ours, _ := special(n); ours != "" {
			return w.fail("%s is always defined: it is %s", n, ours)
		}
		return strconv.Quote(string(n)) + map[string]string{"defined": " in $env", "undefined": " not in $env"}[t.name]
	}
	return w.optional(of) + map[string]string{"defined": " != nil", "undefined": " == nil"}[t.name]
}

// optional prints a path of which any part may be missing.
func (w *exprs) optional(n node) string {
	f, ok := n.(field)
	if !ok {
		return w.tight(n)
	}
	if ours, _ := special(f); ours != "" || f.of == name("hostvars") || f.of == name("groups") {
		return w.value(f)
	}
	if key, ok := f.key.(text); ok && word.MatchString(string(key)) {
		return w.optional(f.of) + "?." + string(key)
	}
	return w.optional(f.of) + "?.[" + w.value(f.key) + "]"
}

// version prints a comparison of versions.
func (w *exprs) version(t test) string {
	op, ok := t.args.at(1, "operator").(text)
	if !ok {
		op = "=="
	}
	if ours, ok := map[text]string{"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "=": "==", "ne": "!=", "<>": "!="}[op]; ok {
		op = text(ours)
	}
	if path, _ := path(t.of); len(path) > 0 && path[0] == "ansible_version" {
		return w.fail("there is no ansible_version; %s", nothing["ansible_version"])
	}
	return "versionCompare(" + w.value(t.of) + ", " + w.value(t.args.at(0, "version")) + ") " + string(op) + " 0"
}
