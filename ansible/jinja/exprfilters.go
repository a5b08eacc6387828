package jinja

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"deployer/engine/lang"
)

// same are filters that are functions of expr, with the value as the only
// argument.
var same = map[string]string{
	"length": "len", "count": "len", "lower": "lower", "upper": "upper", "trim": "trim", "first": "first", "last": "last",
	"min": "min", "max": "max", "sum": "sum", "abs": "abs", "int": "int", "float": "float", "string": "string", "flatten": "flatten",
	"unique": "uniq", "sort": "sort", "reverse": "reverse", "b64encode": "toBase64", "b64decode": "fromBase64", "to_json": "toJSON",
	"from_json": "fromJSON", "dictsort": "toPairs", "round": "round",
}

// unneeded are filters that say nothing here: values have types.
var unneeded = map[string]bool{"list": true, "bool": true, "mandatory": true, "safe": true}

func (w *exprs) filter(f filter) string {
	if unneeded[f.name] {
		return w.value(f.of)
	}
	if fn, ok := same[f.name]; ok && len(f.args.list)+len(f.args.named) == 0 {
		return fn + "(" + w.value(f.of) + ")"
	}
	of, arg := func() string { return w.value(f.of) }, f.args.at(0, "")
	switch f.name {
	case "default", "d":
		return w.fallback(f)
	case "ternary":
		return w.value(choice{f.of, f.args.at(0, "true_val"), f.args.at(1, "false_val")})
	case "join":
		return "join(" + of() + ", " + w.or(f.args.at(0, "d"), `""`) + ")"
	case "split":
		return "split(" + of() + ", " + w.or(arg, `" "`) + ")"
	case "replace":
		return "replace(" + of() + ", " + w.all(f.args.list) + ")"
	case "basename":
		return "last(split(" + of() + `, "/"))`
	case "dict2items":
		return "map(toPairs(" + of() + "), ({key: #[0], value: #[1]}))"
	case "items2dict":
		return "fromPairs(map(" + of() + ", [.key, .value]))"
	case "combine":
		return w.combine(f)
	case "union":
		return "uniq(concat(" + of() + ", " + w.value(arg) + "))"
	case "difference":
		return "filter(" + of() + ", # not in " + w.tight(arg) + ")"
	case "intersect":
		return "filter(" + of() + ", # in " + w.tight(arg) + ")"
	case "map":
		return w.mapped(f)
	case "select", "reject", "selectattr", "rejectattr":
		return w.selected(f)
	case "sort":
		return w.sorted(f)
	}
	if lang.HasFilter(f.name) {
		return w.piped(f)
	}
	return w.fail("there is no filter %q here", f.name)
}

// piped prints a filter as it is written in Ansible.
func (w *exprs) piped(f filter) string {
	var args []string
	for _, a := range f.args.list {
		args = append(args, w.value(a))
	}
	for _, name := range slices.Sorted(maps.Keys(f.args.named)) {
		args = append(args, name+"="+w.value(f.args.named[name]))
	}
	out := w.tight(f.of) + " | " + f.name
	if len(args) > 0 {
		out += "(" + strings.Join(args, ", ") + ")"
	}
	return "(" + out + ")"
}

func (w *exprs) or(n node, other string) string {
	if n == nil {
		return other
	}
	return w.value(n)
}

// fallback prints default. With true it stands for empty values too.
func (w *exprs) fallback(f filter) string {
	value := f.args.at(0, "default_value")
	if value == nil {
		value = text("")
	}
	of := "(" + w.tight(f.of) + " ?? " + w.tight(value) + ")"
	if f.args.at(1, "boolean") != literal("true") {
		return of
	}
	empty := `["", nil, false]`
	return "((" + w.tight(f.of) + ` ?? "") in ` + empty + " ? " + w.tight(value) + " : " + w.tight(f.of) + ")"
}

// combine puts mappings together, the keys of the last ones winning.
func (w *exprs) combine(f filter) string {
	if f.args.named != nil {
		return w.piped(f)
	}
	out := []string{"toPairs(" + w.value(f.of) + ")"}
	for _, a := range f.args.list {
		out = append(out, "toPairs("+w.value(a)+")")
	}
	return "fromPairs(concat(" + strings.Join(out, ", ") + "))"
}

func (w *exprs) mapped(f filter) string {
	of := w.value(f.of)
	if attr, ok := f.args.named["attribute"].(text); ok {
		if fallback := f.args.named["default"]; fallback != nil {
			return "map(" + of + ", #?." + string(attr) + " ?? " + w.value(fallback) + ")"
		}
		return "map(" + of + ", ." + string(attr) + ")"
	}
	inner, ok := f.args.at(0, "").(text)
	if !ok {
		return w.fail("map wants the name of a filter or attribute='NAME'")
	}
	rest := arguments{list: f.args.list[1:], named: f.args.named}
	if inner == "extract" && len(rest.list) > 0 {
		return "map(" + of + ", " + w.extracted(rest.list) + ")"
	}
	return "map(" + of + ", " + w.filter(filter{name("#"), string(inner), rest}) + ")"
}

// extracted takes an item as a key: map('extract', hostvars, 'ansible_host').
func (w *exprs) extracted(args []node) string {
	var n node = field{args[0], name("#")}
	if len(args) > 1 {
		keys := list{args[1]}
		if more, ok := args[1].(list); ok {
			keys = more
		}
		for _, key := range keys {
			n = field{n, key}
		}
	}
	return w.value(n)
}

func (w *exprs) selected(f filter) string {
	var item node = name("#")
	args := f.args.list
	if strings.HasSuffix(f.name, "attr") {
		attr, ok := f.args.at(0, "").(text)
		if !ok {
			return w.fail("%s wants the name of a field", f.name)
		}
		for _, part := range strings.Split(string(attr), ".") {
			item = field{item, text(part)}
		}
		args = args[1:]
	}
	cond := item
	if len(args) > 0 {
		how, ok := args[0].(text)
		if !ok {
			return w.fail("%s wants the name of a test", f.name)
		}
		cond = compare(item, string(how), args[1:])
	}
	if strings.HasPrefix(f.name, "reject") {
		cond = unary{"not", grouped{cond}}
	}
	return "filter(" + w.value(f.of) + ", " + w.truth(cond) + ")"
}

// compare is a test by its name, of which some are operators.
func compare(item node, how string, args []node) node {
	if op, ok := map[string]string{"equalto": "==", "eq": "==", "==": "==", "ne": "!=", "!=": "!=", "gt": ">", ">": ">", "lt": "<", "<": "<", "ge": ">=", ">=": ">=", "le": "<=", "<=": "<="}[how]; ok && len(args) == 1 {
		return binary{op, item, args[0]}
	}
	return test{item, how, arguments{list: args}}
}

func (w *exprs) sorted(f filter) string {
	attr, ok := f.args.named["attribute"].(text)
	order := ""
	if f.args.named["reverse"] == literal("true") {
		order = `, "desc"`
	}
	if ok {
		return "sortBy(" + w.value(f.of) + ", ." + string(attr) + order + ")"
	}
	return "sort(" + w.value(f.of) + order + ")"
}

// call prints a method of a text, list or mapping.
func (w *exprs) call(c call) string {
	if c.of == nil {
		return w.function(c)
	}
	arg := c.args.at(0, "")
	switch c.name {
	case "split":
		return "split(" + w.value(c.of) + ", " + w.or(arg, `" "`) + ")"
	case "startswith":
		return w.tight(c.of) + " startsWith " + w.tight(arg)
	case "endswith":
		return w.tight(c.of) + " endsWith " + w.tight(arg)
	case "strip":
		return "trim(" + w.value(c.of) + ")"
	case "lower", "upper", "keys", "values":
		return c.name + "(" + w.value(c.of) + ")"
	case "items":
		return "toPairs(" + w.value(c.of) + ")"
	case "get":
		return "(" + w.tight(c.of) + "?.[" + w.value(arg) + "] ?? " + w.or(c.args.at(1, ""), "nil") + ")"
	case "join":
		return "join(" + w.value(arg) + ", " + w.value(c.of) + ")"
	case "replace":
		return "replace(" + w.value(c.of) + ", " + w.all(c.args.list) + ")"
	case "find":
		return "indexOf(" + w.value(c.of) + ", " + w.value(arg) + ")"
	}
	return w.fail("there is no method %s()", c.name)
}

func (w *exprs) function(c call) string {
	what, _ := c.args.at(0, "").(text)
	switch {
	case isLookup(c):
	case c.name == "lookup" || c.name == "query" || c.name == "q":
		advice, ok := lookups[strings.TrimPrefix(string(what), "ansible.builtin.")]
		if !ok {
			advice = "a task does it, with register and delegate_to: localhost"
		}
		return w.fail("there is no lookup(%s): %s", strconv.Quote(string(what)), advice)
	case c.name == "range" && len(c.args.list) == 2:
		return w.tight(c.args.list[0]) + "..(" + w.value(c.args.list[1]) + " - 1)"
	case c.name == "range" && len(c.args.list) == 1:
		return "0..(" + w.value(c.args.list[0]) + " - 1)"
	case c.name == "dict" || c.name == "namespace" || c.name == "now":
		return w.fail("there is no %s()", c.name)
	}
	return c.name + "(" + w.all(c.args.list) + ")" // maybe it is one of expr
}

// lookups are those that many roles have.
var lookups = map[string]string{
	"first_found": "include_vars takes a list of names, of which the first that exists counts",
	"pipe":        "a task command with delegate_to: localhost and register",
	"url":         "a task http_check, or download",
	"vars":        "the variable by its name, or a mapping with a key",
	"dict":        "toPairs(NAME)",
	"fileglob":    "name the files in a list, or copy a directory",
}
