package jinja

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// exprFilter is a filter that expressions have.
type exprFilter struct {
	params []string // names of the arguments in their order
	more   bool     // it takes any number of arguments
	kind   Kind     // of the result
	// printer prints another form than `value | NAME(arguments)`; nil for that form.
	printer func(*exprPrinter, filter) string
	// differs describes what is not as in Ansible.
	differs string
}

// The differences of filters from Ansible's.
const (
	sortedKeys  = "the keys of a mapping are sorted; Ansible keeps the order of the file"
	otherBlanks = "the same data with other blanks and sorted keys: the text differs from Ansible's"
)

// exprFilters are the filters that expressions have, by Ansible's name. A filter that is
// missing here has no translation.
var exprFilters = map[string]exprFilter{}

func init() { //nolint:gochecknoinits // the printers refer to the table
	maps.Copy(exprFilters, map[string]exprFilter{
		"default": {params: []string{"default_value", "boolean"}, printer: (*exprPrinter).fallback}, "d": {params: []string{"default_value", "boolean"}, printer: (*exprPrinter).fallback},
		"ternary": {params: []string{"true_val", "false_val", "none_val"}, printer: (*exprPrinter).ternary}, "mandatory": {params: []string{"msg"}, printer: operand}, "safe": {printer: operand},
		"bool": {kind: KindBool}, "int": {params: []string{"default", "base"}, kind: KindInt}, "float": {params: []string{"default"}, kind: KindFloat},
		"round": {params: []string{"precision", "method"}, kind: KindFloat}, "abs": {}, "human_readable": {kind: KindText},
		"string": {kind: KindText, printer: func(w *exprPrinter, f filter) string { return w.asText(f.of) }},
		"lower":  {kind: KindText}, "upper": {kind: KindText}, "capitalize": {kind: KindText}, "title": {kind: KindText},
		"trim": {params: []string{"chars"}, kind: KindText}, "replace": {params: []string{"old", "new", "count"}, kind: KindText}, "split": {params: []string{"sep", "maxsplit"}, kind: KindList},
		"join": {params: []string{"d", "attribute"}, kind: KindText, printer: (*exprPrinter).joined}, "indent": {params: []string{"width", "first", "blank"}, kind: KindText},
		"quote": {kind: KindText}, "comment": {params: []string{"style", "decoration", "prefix", "postfix"}, kind: KindText}, "urlencode": {kind: KindText},
		"basename": {kind: KindText}, "dirname": {kind: KindText}, "splitext": {kind: KindList},
		"regex_replace": {params: []string{"pattern", "replacement", "ignorecase", "multiline"}, kind: KindText, printer: (*exprPrinter).regex}, "regex_escape": {kind: KindText},
		"regex_search": {params: []string{"pattern", "ignorecase", "multiline"}, more: true, differs: "without a match it is null, which has no text here", printer: (*exprPrinter).regex}, "regex_findall": {params: []string{"pattern", "multiline", "ignorecase"}, kind: KindList, printer: (*exprPrinter).regex},
		"list": {kind: KindList, printer: (*exprPrinter).listed}, "length": {kind: KindInt, printer: (*exprPrinter).length}, "count": {kind: KindInt, printer: (*exprPrinter).length},
		"first": {printer: (*exprPrinter).end}, "last": {printer: (*exprPrinter).end}, "min": {}, "max": {}, "reverse": {},
		"sum": {params: []string{"attribute", "start"}, printer: (*exprPrinter).byName}, "sort": {params: []string{"reverse", "case_sensitive", "attribute"}, kind: KindList}, "unique": {params: []string{"case_sensitive", "attribute"}, kind: KindList},
		"union": {params: []string{"b"}, kind: KindList}, "intersect": {params: []string{"b"}, kind: KindList}, "difference": {params: []string{"b"}, kind: KindList}, "symmetric_difference": {params: []string{"b"}, kind: KindList},
		"flatten": {params: []string{"levels"}, kind: KindList}, "zip": {more: true, kind: KindList}, "extract": {params: []string{"container", "morekeys"}},
		"map": {params: []string{"attribute", "default"}, more: true, kind: KindList, printer: (*exprPrinter).mapped}, "select": {more: true, kind: KindList, printer: (*exprPrinter).selected}, "reject": {more: true, kind: KindList, printer: (*exprPrinter).selected},
		"selectattr": {more: true, kind: KindList, printer: (*exprPrinter).selected}, "rejectattr": {more: true, kind: KindList, printer: (*exprPrinter).selected},
		"subelements": {params: []string{"subelements", "skip_missing"}, kind: KindList}, "items": {kind: KindList, differs: sortedKeys},
		"dict2items": {params: []string{"key_name", "value_name"}, kind: KindList, differs: sortedKeys}, "items2dict": {params: []string{"key_name", "value_name"}, kind: KindMapping},
		"combine": {params: []string{"recursive", "list_merge"}, more: true, kind: KindMapping}, "dictsort": {params: []string{"case_sensitive", "by", "reverse"}, kind: KindList},
		"b64encode": {kind: KindText}, "b64decode": {kind: KindText}, "hash": {params: []string{"hashtype"}, kind: KindText}, "checksum": {kind: KindText}, "md5": {kind: KindText}, "sha1": {kind: KindText},
		"to_json": {kind: KindText, differs: otherBlanks}, "tojson": {kind: KindText, differs: otherBlanks, printer: piped("to_json")}, "to_yaml": {kind: KindText, differs: otherBlanks}, "to_nice_yaml": {params: []string{"indent"}, kind: KindText, differs: otherBlanks},
		"to_nice_json": {params: []string{"indent"}, kind: KindText, differs: `letters outside of ASCII stay as they are; Ansible writes \uXXXX`}, "from_json": {}, "from_yaml": {},
		"ipaddr": {params: []string{"query"}}, "ipv4": {params: []string{"query"}}, "ipv6": {params: []string{"query"}}, "ipwrap": {kind: KindText}, "nthhost": {params: []string{"query"}, kind: KindText},
		"ipsubnet": {params: []string{"query", "index"}, kind: KindText}, "network_in_network": {params: []string{"value"}, kind: KindBool},
	})
}

// checkArguments reports arguments that a filter does not take.
func (e exprFilter) checkArguments(f filter) error {
	if len(f.args.list) > len(e.params) && !e.more {
		return fmt.Errorf("the filter %s takes %d arguments here", f.name, len(e.params))
	}
	for _, name := range slices.Sorted(maps.Keys(f.args.named)) {
		if !slices.Contains(e.params, name) {
			return fmt.Errorf("the filter %s takes no argument %s here", f.name, name)
		}
	}
	return nil
}

func (w *exprPrinter) filter(f filter) string {
	e, ok := exprFilters[f.name]
	if !ok {
		return w.fail("there is no filter %q here", f.name)
	}
	if err := e.checkArguments(f); err != nil {
		return w.fail("%v", err)
	}
	if e.differs != "" {
		w.note("%s: %s", f.name, e.differs)
	}
	if e.printer != nil {
		return e.printer(w, f)
	}
	return w.piped(f)
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

func operand(w *exprPrinter, f filter) string { return w.value(f.of) }

// end prints first and last.
func (w *exprPrinter) end(f filter) string {
	switch w.kindOf(f.of) {
	case KindMapping:
		w.note("%s: %s", f.name, sortedKeys)
	case KindText:
		return w.piped(f)
	}
	return f.name + "(" + w.value(f.of) + ")"
}

// piped prints a filter under another name.
func piped(name string) func(*exprPrinter, filter) string {
	return func(w *exprPrinter, f filter) string { return w.piped(filter{f.of, name, f.args}) }
}

// byName prints a filter whose arguments are all named.
func (w *exprPrinter) byName(f filter) string {
	named := maps.Clone(f.args.named)
	if named == nil {
		named = map[string]node{}
	}
	for i, a := range f.args.list {
		named[exprFilters[f.name].params[i]] = a
	}
	return w.piped(filter{f.of, f.name, arguments{named: named}})
}

// length prints the number of items of a list or mapping, or of the letters of a text.
func (w *exprPrinter) length(f filter) string { return "len(" + outer(w.value(f.of)) + ")" }

// listed prints the filter list, which a list does not need.
func (w *exprPrinter) listed(f filter) string {
	if w.kindOf(f.of) == KindMapping {
		w.note("list: %s", sortedKeys)
	}
	if w.kindOf(f.of) == KindList || w.inner(f.of) {
		return w.value(f.of)
	}
	return w.piped(f)
}

// inner reports whether a filter keeps the list in front of it a list.
func (w *exprPrinter) inner(n node) bool {
	f, ok := bare(n).(filter)
	return ok && f.name == "reverse" && w.kindOf(f.of) == KindList
}

func (w *exprPrinter) joined(f filter) string {
	if attr := f.args.at(1, "attribute"); attr != nil {
		named := map[string]node{"attribute": attr}
		return w.piped(filter{f.of, "join", arguments{list: []node{orText(f.args.at(0, "d"))}, named: named}})
	}
	if w.kindOf(f.of) != KindList {
		return w.piped(f)
	}
	return "join(" + w.value(f.of) + ", " + w.or(f.args.at(0, "d"), `""`) + ")"
}

func orText(n node) node {
	if n == nil {
		return text("")
	}
	return n
}

// regex prints a filter with a regular expression, which must be one of RE2.
func (w *exprPrinter) regex(f filter) string {
	w.checkPattern(f.args.at(0, "pattern"))
	return w.piped(f)
}

func (w *exprPrinter) checkPattern(n node) {
	if s, ok := n.(text); ok {
		if _, err := regexp.Compile(string(s)); err != nil {
			w.fail("%v: patterns are those of RE2, without look-ahead and back references", err)
		}
	}
}
