package jinja

import (
	"slices"
	"strings"

	"deployer/engine/lang/dialect"
)

func (w *exprPrinter) or(n node, other string) string { return valueOr(w, n, other) }

// fallback prints the filter default. With boolean=true it replaces empty values too.
func (w *exprPrinter) fallback(f filter) string {
	value := f.args.at(0, "default_value")
	if value == nil {
		value = text("")
	}
	if value == literal("nil") {
		w.note("default(none): null has no text here")
	}
	boolean := f.args.at(1, "boolean")
	if boolean == nil || boolean == literal("false") {
		switch w.kindOf(f.of) {
		case KindNull:
			w.note("default: the variable is null, which Ansible keeps; here the default replaces it")
		case KindUnknown:
		default:
			if _, constant := bare(f.of).(text); constant {
				return w.value(f.of)
			}
		}
		return "(" + w.tight(f.of) + " ?? " + w.tight(value) + ")"
	}
	return w.piped(filter{f.of, "default", arguments{list: []node{value, boolean}}})
}

// ternary prints a choice when its condition is true or false, and otherwise the filter.
func (w *exprPrinter) ternary(f filter) string {
	yes, no := f.args.at(0, "true_val"), f.args.at(1, "false_val")
	if yes == nil || no == nil {
		return w.fail("ternary wants two values")
	}
	if w.kindOf(f.of) == KindBool {
		return "(" + w.value(choice{f.of, yes, no}) + ")"
	}
	return w.piped(f)
}

func (w *exprPrinter) mapped(f filter) string {
	if attr, ok := f.args.named["attribute"].(text); ok {
		if f.args.named["default"] != nil || !word.MatchString(string(attr)) {
			return w.piped(f)
		}
		return "map(" + w.value(f.of) + ", ." + string(attr) + ")"
	}
	inner, ok := f.args.at(0, "").(text)
	if !ok || len(f.args.named) > 0 && inner == "extract" {
		return w.fail("map wants the name of a filter or attribute='NAME'")
	}
	of := w.value(f.of)
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

// selected prints select, reject, selectattr and rejectattr, whose tests the language has
// under the same names.
func (w *exprPrinter) selected(f filter) string {
	args := f.args.list
	if strings.HasSuffix(f.name, "attr") {
		if len(args) == 0 {
			return w.fail("%s wants the name of a field", f.name)
		}
		args = args[1:]
	}
	if len(args) == 0 {
		return w.piped(f)
	}
	how, ok := args[0].(text)
	if !ok {
		return w.fail("%s wants the name of a test", f.name)
	}
	most := 1
	switch how {
	case "version", "version_compare":
		most = 2
	case "match", "search", "regex":
		if len(args) > 1 {
			w.checkPattern(args[1])
		}
	}
	if !(dialect.HasTest(string(how)) || slices.Contains([]text{"==", "!=", "<", "<=", ">", ">="}, how)) || len(args)-1 > most {
		return w.fail("%s has no test %q with %d arguments", f.name, string(how), len(args)-1)
	}
	return w.piped(f)
}
