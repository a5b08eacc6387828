package jinja

import (
	"slices"
	"strconv"
	"strings"
)

// templateFunctions are the filters that are template functions with the value as their
// last argument.
var templateFunctions = map[string]string{
	"length": "len", "count": "len", "lower": "lower", "upper": "upper", "trim": "trim", "title": "title", "first": "first", "last": "last",
	"int": "int", "float": "float64", "string": "toString", "unique": "uniq", "sort": "sortAlpha", "reverse": "reverse", "round": "round",
	"b64encode": "b64enc", "b64decode": "b64dec", "to_json": "toJson", "to_nice_json": "toPrettyJson", "to_yaml": "toYaml", "to_nice_yaml": "toYaml",
	"from_json": "fromJson", "from_yaml": "fromYaml", "quote": "squote", "basename": "base", "dirname": "dir",
	"tojson": "toJson", "checksum": "sha1sum", "capitalize": "title", "e": "html", "escape": "html",
}

func (w *templatePrinter) filter(f filter) string {
	if noOps[f.name] {
		return w.value(f.of)
	}
	arg := f.args.at(0, "")
	switch f.name {
	case "default", "d":
		return w.fallback(f)
	case "ternary":
		return w.value(choice{f.of, f.args.at(0, "true_val"), f.args.at(1, "false_val")})
	case "join":
		return fn("join", w.or(f.args.at(0, "d"), `""`), w.value(f.of))
	case "split":
		return fn("splitList", w.or(arg, `" "`), w.value(f.of))
	case "replace":
		return fn("replace", append(w.all(f.args.list), w.value(f.of))...)
	case "regex_replace":
		return w.replaced(f)
	case "regex_search":
		return fn("regexFind", w.value(arg), w.value(f.of))
	case "regex_findall":
		return fn("regexFindAll", w.value(arg), w.value(f.of), "-1")
	case "hash":
		return w.hash(f)
	case "indent":
		return w.indent(f)
	case "combine":
		args := []string{fn("deepCopy", w.value(f.of))}
		return fn("mergeOverwrite", append(args, w.all(f.args.list)...)...)
	case "union":
		return fn("uniq", fn("concat", w.value(f.of), w.value(arg)))
	case "comment":
		if f.of == name("ansible_managed") {
			return strconv.Quote("# " + managed)
		}
		return fn("print", `"# "`, fn("replace", `"\n"`, `"\n# "`, w.value(f.of)))
	}
	if name, ok := templateFunctions[f.name]; ok {
		return fn(name, w.value(f.of))
	}
	if _, err := write(func(e *exprPrinter) string { return e.filter(f) }); err == nil {
		return w.fail("texts have no filter %q, expressions do: in loop and when; a text goes over a list with range", f.name)
	}
	return w.fail("there is no filter %q here", f.name)
}

func (w *templatePrinter) or(n node, other string) string { return valueOr(w, n, other) }

// fallback prints the filter default: dig for paths, because a part of the path may be
// undefined.
func (w *templatePrinter) fallback(f filter) string {
	value := f.args.at(0, "default_value")
	other := w.or(value, `""`)
	parts, ok := path(bare(f.of))
	if ours, _ := special(bare(f.of)); ours != "" || factName(bare(f.of)) != "" {
		return fn("default", other, w.value(f.of))
	}
	if !ok || f.args.at(1, "boolean") == literal("true") && len(parts) == 0 {
		return fn("default", other, w.value(f.of))
	}
	of := w.root()
	if slices.Contains(w.locals, parts[0]) {
		if of = "$" + parts[0]; len(parts) == 1 {
			return fn("default", other, of)
		}
		parts = parts[1:]
	}
	args := make([]string, 0, len(parts)+2)
	for _, p := range parts {
		args = append(args, strconv.Quote(p))
	}
	out := fn("dig", append(args, other, of)...)
	if f.args.at(1, "boolean") == literal("true") {
		return fn("default", other, out)
	}
	return out
}

// replaced prints regex_replace; references to groups become ${1}.
func (w *templatePrinter) replaced(f filter) string {
	pattern, with := f.args.at(0, "pattern"), f.args.at(1, "replacement")
	if with == nil {
		with = text("")
	}
	if s, ok := with.(text); ok {
		with = text(groups.Replace(string(s)))
	}
	return fn("regexReplaceAll", w.value(pattern), w.value(f.of), w.value(with))
}

var groups = strings.NewReplacer("$", "$$", `\1`, "${1}", `\2`, "${2}", `\3`, "${3}", `\g<0>`, "${0}", `\g<1>`, "${1}", `\g<2>`, "${2}")

func (w *templatePrinter) hash(f filter) string {
	sort, _ := f.args.at(0, "").(text)
	name, ok := map[text]string{"": "sha1sum", "sha1": "sha1sum", "sha256": "sha256sum", "sha512": "sha512sum"}[sort]
	if !ok {
		return w.fail("there is no hash %q here", string(sort))
	}
	return fn(name, w.value(f.of))
}

// indent prints the filter indent, which leaves the first line alone, unlike sprig's
// function.
func (w *templatePrinter) indent(f filter) string {
	width := 4
	if n, ok := f.args.at(0, "width").(literal); ok {
		width, _ = strconv.Atoi(string(n))
	}
	if f.args.at(1, "first") == literal("true") {
		return fn("indent", strconv.Itoa(width), w.value(f.of))
	}
	return fn("replace", `"\n"`, strconv.Quote("\n"+strings.Repeat(" ", min(width, 80))), w.value(f.of))
}
