package jinja

import (
	"strconv"
	"strings"
)

// test prints `x is name(args)`.
func (w *exprPrinter) test(t test) string {
	arg := t.args.at(0, "value")
	if len(t.args.named) > 0 && !namedTests[t.name] || len(t.args.list) > 0 && !argumentTests[t.name] && !namedTests[t.name] {
		return w.fail("there is no test %q with these arguments", t.name)
	}
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
	case "match", "search", "regex":
		w.checkPattern(t.args.at(0, "pattern"))
		return w.is(t, "pattern", "ignorecase", "multiline")
	case "version", "version_compare":
		return w.version(t)
	case "sameas":
		if arg == nil {
			return w.fail("sameas wants a value")
		}
		return w.tight(t.of) + " == " + w.tight(arg)
	case "string", "mapping", "boolean":
		return "type(" + w.value(t.of) + `) == "` + map[string]string{"string": "string", "mapping": "map", "boolean": "bool"}[t.name] + `"`
	case "true", "false":
		return w.tight(t.of) + " == " + t.name
	case "truthy", "falsy", "even", "odd", "sequence", "iterable", "number", "integer":
		return w.is(t)
	case "divisibleby":
		return w.is(t, "num")
	case "file", "exists", "directory", "link":
		return w.fail("`is %s` looks at the machine of Ansible; a task stat, with register and delegate_to: localhost, does that", t.name)
	}
	if arg == nil || len(t.args.list) != 1 {
		return w.fail("there is no test %q", t.name)
	}
	switch t.name {
	case "in":
		return w.contains(binary{"in", t.of, arg})
	case "contains":
		return w.tight(arg) + " in " + w.tight(t.of)
	case "subset", "superset":
		return w.is(t, "b")
	}
	if op, ok := testOperators[t.name]; ok {
		return w.binary(binary{op, t.of, arg})
	}
	return w.fail("there is no test %q", t.name)
}

// namedTests are the tests that may have named arguments, argumentTests others with an
// argument.
var (
	namedTests    = map[string]bool{"match": true, "search": true, "regex": true, "version": true, "version_compare": true}
	argumentTests = map[string]bool{
		"sameas": true, "divisibleby": true, "in": true, "contains": true, "subset": true, "superset": true,
		"equalto": true, "eq": true, "ne": true, "gt": true, "greaterthan": true, "ge": true, "lt": true, "lessthan": true, "le": true,
	}
)

// testOperators are the tests that are operators.
var testOperators = map[string]string{
	"equalto": "==", "eq": "==", "ne": "!=", "gt": ">", "greaterthan": ">", "ge": ">=", "lt": "<", "lessthan": "<", "le": "<=",
}

// is prints a test that the language has under the same name, with these arguments.
func (w *exprPrinter) is(t test, params ...string) string {
	rule := exprFilter{params: params}
	if err := rule.checkArguments(filter{name: t.name, args: t.args}); err != nil {
		return w.fail("%s", strings.Replace(err.Error(), "the filter", "the test", 1))
	}
	printed := w.piped(filter{name("_"), t.name, t.args}) // (_ | name(args))
	return w.tight(t.of) + " is " + strings.TrimSuffix(strings.TrimPrefix(printed, "(_ | "), ")")
}

// defined prints a test for a name in all variables, or for a field of a value that
// may be missing.
func (w *exprPrinter) defined(t test) string {
	of := bare(t.of)
	if n, ok := of.(name); ok {
		if ours, _ := special(n); ours != "" && !w.isLocal(n) {
			return w.fail("%s is always defined: it is %s", n, ours)
		}
		if w.isLocal(n) {
			return map[string]string{"defined": "true", "undefined": "false"}[t.name]
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

// versionOperators are the operators of the test version.
var versionOperators = map[text]string{
	"==": "==", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">=",
	"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "=": "==", "ne": "!=", "<>": "!=",
}

// version prints a comparison of versions.
func (w *exprPrinter) version(t test) string {
	op := "=="
	if n := t.args.at(1, "operator"); n != nil {
		theirs, _ := n.(text)
		known := false
		if op, known = versionOperators[theirs]; !known {
			return w.fail("the operator of version is not one of ==, !=, <, <=, > and >=")
		}
	}
	if t.args.at(2, "strict") != nil || t.args.at(3, "version_type") != nil {
		return w.fail("the test version takes no argument strict or version_type here")
	}
	wanted := t.args.at(0, "version")
	if wanted == nil {
		return w.fail("version wants a version")
	}
	if path, _ := path(t.of); len(path) > 0 && path[0] == "ansible_version" {
		return w.fail("there is no ansible_version; %s", missingNames["ansible_version"])
	}
	if op == "==" || op == "!=" {
		w.note("version: 1.2 and 1.2.0 are equal here, but not in Ansible")
	}
	for _, n := range []node{t.of, wanted} {
		if s, ok := bare(n).(text); ok && strings.Trim(string(s), "0123456789.") != "" {
			w.note("version: a suffix such as rc1 makes a version older here, and newer in Ansible")
		}
	}
	return "versionCompare(" + w.versionOf(t.of) + ", " + w.value(wanted) + ") " + op + " 0"
}

// versionOf prints a value that a version is compared with; for facts it is not noted that
// their texts differ.
func (w *exprPrinter) versionOf(n node) string {
	if ours, _ := special(bare(n)); ours == "facts.os_version" && !w.isLocal(bare(n)) {
		return ours
	}
	return w.value(n)
}
