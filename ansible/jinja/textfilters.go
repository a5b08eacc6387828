package jinja

import (
	"slices"
	"strconv"
	"strings"
)

// functions are filters that are functions of templates, with the value as the
// last argument.
var functions = map[string]string{
	"length": "len", "count": "len", "lower": "lower", "upper": "upper", "trim": "trim", "title": "title", "first": "first", "last": "last",
	"int": "int", "float": "float64", "string": "toString", "unique": "uniq", "sort": "sortAlpha", "reverse": "reverse", "round": "round",
	"b64encode": "b64enc", "b64decode": "b64dec", "to_json": "toJson", "to_nice_json": "toPrettyJson", "to_yaml": "toYaml", "to_nice_yaml": "toYaml",
	"from_json": "fromJson", "from_yaml": "fromYaml", "quote": "squote", "basename": "base", "dirname": "dir",
	"tojson": "toJson", "checksum": "sha1sum", "capitalize": "title", "e": "html", "escape": "html",
}

func (w *texts) filter(f filter) string {
	if unneeded[f.name] {
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
	if name, ok := functions[f.name]; ok {
		return fn(name, w.value(f.of))
	}
	if _, err := write(func(e *exprs) string { return e.filter(f) }); err == nil {
		return w.fail("texts have no filter %q, expressions do: in loop and when; a text goes over a list with range", f.name)
	}
	return w.fail("there is no filter %q here", f.name)
}

func (w *texts) or(n node, other string) string {
	if n == nil {
		return other
	}
	return w.value(n)
}

// fallback prints default: dig, where the name may not exist.
func (w *texts) fallback(f filter) string {
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

// replaced prints regex_replace: what a group has found is ${1} here.
func (w *texts) replaced(f filter) string {
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

func (w *texts) hash(f filter) string {
	sort, _ := f.args.at(0, "").(text)
	name, ok := map[text]string{"": "sha1sum", "sha1": "sha1sum", "sha256": "sha256sum", "sha512": "sha512sum"}[sort]
	if !ok {
		return w.fail("there is no hash %q here", string(sort))
	}
	return fn(name, w.value(f.of))
}

// indent leaves the first line alone, which sprig's does not.
func (w *texts) indent(f filter) string {
	width := 4
	if n, ok := f.args.at(0, "width").(literal); ok {
		width, _ = strconv.Atoi(string(n))
	}
	if f.args.at(1, "first") == literal("true") {
		return fn("indent", strconv.Itoa(width), w.value(f.of))
	}
	return fn("replace", `"\n"`, strconv.Quote("\n"+strings.Repeat(" ", min(width, 80))), w.value(f.of))
}

// call prints a method of a text, list or mapping.
func (w *texts) call(c call) string {
	if c.of == nil {
		e := &exprs{}
		e.function(c)
		if e.err == nil && c.name == "range" {
			return fn("untilStep", append(w.bounds(c.args.list), "1")...)
		}
		if e.err == nil {
			return w.fail("unknown function %s()", c.name)
		}
		return w.fail("%v", e.err)
	}
	arg := c.args.at(0, "")
	switch c.name {
	case "split":
		return fn("splitList", w.or(arg, `" "`), w.value(c.of))
	case "startswith":
		return fn("hasPrefix", w.value(arg), w.value(c.of))
	case "endswith":
		return fn("hasSuffix", w.value(arg), w.value(c.of))
	case "strip":
		return fn("trim", w.value(c.of))
	case "lower", "upper", "keys", "values":
		return fn(c.name, w.value(c.of))
	case "get":
		return fn("dig", w.value(arg), w.or(c.args.at(1, ""), `""`), w.value(c.of))
	case "join":
		return fn("join", w.value(c.of), w.value(arg))
	case "replace":
		return fn("replace", append(w.all(c.args.list), w.value(c.of))...)
	case "items":
		return w.fail("{{ range $key, $value := MAPPING }} goes over a mapping")
	}
	return w.fail("there is no method %s()", c.name)
}

func (w *texts) bounds(args []node) []string {
	if len(args) == 1 {
		return []string{"0", w.value(args[0])}
	}
	return w.all(args)
}
