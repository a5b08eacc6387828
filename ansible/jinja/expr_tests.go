package jinja

import (
	"strconv"
	"strings"
)

// test prints `x is name(args)`.
func (w *exprPrinter) test(t test) string {
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

// defined prints a test for a name in all variables, or for a field of a value that
// may be missing.
func (w *exprPrinter) defined(t test) string {
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
func (w *exprPrinter) optional(n node) string {
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
func (w *exprPrinter) version(t test) string {
	op, ok := t.args.at(1, "operator").(text)
	if !ok {
		op = "=="
	}
	if ours, ok := map[text]string{"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "=": "==", "ne": "!=", "<>": "!="}[op]; ok {
		op = text(ours)
	}
	if path, _ := path(t.of); len(path) > 0 && path[0] == "ansible_version" {
		return w.fail("there is no ansible_version; %s", missingNames["ansible_version"])
	}
	return "versionCompare(" + w.value(t.of) + ", " + w.value(t.args.at(0, "version")) + ") " + string(op) + " 0"
}
