package jinja

import (
	"slices"
	"strconv"
)

// templateFunctions are the filters without arguments that a template function does in the
// same way, for a text or a list as the case may be; for other values it fails.
var templateFunctions = map[string]string{"trim": "trim", "b64encode": "b64enc", "first": "first", "last": "last"}

func (w *templatePrinter) filter(f filter) string {
	switch f.name {
	case "default", "d":
		if out := w.fallback(f); out != "" {
			return out
		}
	case "lower", "upper":
		if w.kindOf(f.of) == KindText || factName(bare(f.of)) != "" && !w.isLocal(f.of) {
			return fn(f.name, w.value(f.of))
		}
	case "length", "count":
		if k := w.kindOf(f.of); k == KindList || k == KindMapping {
			return fn("len", w.value(f.of))
		}
	case "join":
		if w.kindOf(f.of) == KindList && len(f.args.list) == 1 && len(f.args.named) == 0 && isGroup(f.of) {
			return fn("join", w.value(f.args.list[0]), w.value(f.of))
		}
	case "replace":
		if len(f.args.list) == 2 && len(f.args.named) == 0 && w.kindOf(f.of) == KindText {
			return fn("replace", append(w.all(f.args.list), w.value(f.of))...)
		}
	}
	if name, ok := templateFunctions[f.name]; ok && len(f.args.list)+len(f.args.named) == 0 {
		return fn(name, w.value(f.of))
	}
	return w.expr(f)
}

// isGroup reports whether a list holds the names of a group's hosts.
func isGroup(n node) bool {
	f, ok := bare(n).(field)
	return ok && f.of == name("groups")
}

func (w *templatePrinter) or(n node, other string) string { return valueOr(w, n, other) }

// fallback prints the filter default as dig, for a path of which a part may be missing. It
// returns an empty text for another value.
func (w *templatePrinter) fallback(f filter) string {
	parts, ok := path(bare(f.of))
	if ours, err := special(bare(f.of)); !ok || err != nil || ours != "" || factName(bare(f.of)) != "" || parts[0] == "loop" || parts[0] == "hostvars" {
		return ""
	}
	boolean := f.args.at(1, "boolean")
	if len(f.args.list) > 2 || boolean != nil && literalKind(literalText(boolean)) != KindBool {
		return ""
	}
	other := w.or(f.args.at(0, "default_value"), `""`)
	of := w.root()
	if slices.Contains(w.locals, parts[0]) {
		if of = "$" + parts[0]; len(parts) == 1 {
			return w.emptyOr(boolean, other, of)
		}
		parts = parts[1:]
	}
	args := make([]string, 0, len(parts)+2)
	for _, p := range parts {
		args = append(args, strconv.Quote(p))
	}
	return w.emptyOr(boolean, other, fn("dig", append(args, other, of)...))
}

func literalText(n node) string {
	l, _ := n.(literal)
	return string(l)
}

// emptyOr prints a value, with boolean true also the default of an empty one.
func (w *templatePrinter) emptyOr(boolean node, other, value string) string {
	if boolean == literal("true") {
		return fn("default", other, value)
	}
	return value
}
