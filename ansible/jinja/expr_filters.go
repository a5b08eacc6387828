package jinja

import (
	"maps"
	"slices"
	"strings"

	"deployer/engine/lang/dialect"
)

// exprFunctions are the filters that are functions of expr with the value as their only
// argument.
var exprFunctions = map[string]string{
	"length": "len", "count": "len", "lower": "lower", "upper": "upper", "trim": "trim", "first": "first", "last": "last",
	"min": "min", "max": "max", "sum": "sum", "abs": "abs", "int": "int", "float": "float", "string": "string", "flatten": "flatten",
	"unique": "uniq", "sort": "sort", "reverse": "reverse", "b64encode": "toBase64", "b64decode": "fromBase64", "to_json": "toJSON",
	"from_json": "fromJSON", "dictsort": "toPairs", "round": "round",
}

// noOps are the filters that are left out: values have types, and undefined variables
// are errors.
var noOps = map[string]bool{"list": true, "bool": true, "mandatory": true, "safe": true}

func (w *exprPrinter) filter(f filter) string {
	if noOps[f.name] {
		return w.value(f.of)
	}
	if fn, ok := exprFunctions[f.name]; ok && len(f.args.list)+len(f.args.named) == 0 {
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
	if dialect.HasFilter(f.name) {
		return w.piped(f)
	}
	return w.fail("there is no filter %q here", f.name)
}

// piped prints a filter that the language has under the same name.
func (w *exprPrinter) piped(f filter) string {
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

func (w *exprPrinter) or(n node, other string) string { return valueOr(w, n, other) }

// fallback prints the filter default. With boolean=true it replaces empty values too.
func (w *exprPrinter) fallback(f filter) string {
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

// combine merges mappings; on equal keys the last one wins.
func (w *exprPrinter) combine(f filter) string {
	if f.args.named != nil {
		return w.piped(f)
	}
	out := []string{"toPairs(" + w.value(f.of) + ")"}
	for _, a := range f.args.list {
		out = append(out, "toPairs("+w.value(a)+")")
	}
	return "fromPairs(concat(" + strings.Join(out, ", ") + "))"
}

func (w *exprPrinter) mapped(f filter) string {
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

// extracted prints map('extract', CONTAINER, KEYS...), which uses each item as a key.
func (w *exprPrinter) extracted(args []node) string {
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

func (w *exprPrinter) selected(f filter) string {
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

// compare returns the comparison or test with the given Jinja name.
func compare(item node, how string, args []node) node {
	if op, ok := map[string]string{"equalto": "==", "eq": "==", "==": "==", "ne": "!=", "!=": "!=", "gt": ">", ">": ">", "lt": "<", "<": "<", "ge": ">=", ">=": ">=", "le": "<=", "<=": "<="}[how]; ok && len(args) == 1 {
		return binary{op, item, args[0]}
	}
	return test{item, how, arguments{list: args}}
}

func (w *exprPrinter) sorted(f filter) string {
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
