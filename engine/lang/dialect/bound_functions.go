package dialect

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// costs are the functions of templates whose result may be much larger than their arguments,
// each with the size of that result: bytes of a text, or items of a list.
var costs = map[string]func(args []any) error{
	"repeat":  func(a []any) error { return BoundText(times(numberAt(a, 0), len(textAt(a, 1)))) },
	"indent":  func(a []any) error { return indentCost(a) },
	"nindent": func(a []any) error { return indentCost(a) },
	"join":    func(a []any) error { return joinCost(textAt(a, 0), a, 1) },
	"replace": func(a []any) error { return replaceCost(textAt(a, 2), textAt(a, 0), textAt(a, 1), -1) },

	"split":     func(a []any) error { return splitCost(textAt(a, 1), textAt(a, 0)) },
	"splitList": func(a []any) error { return splitCost(textAt(a, 1), textAt(a, 0)) },
	"splitn":    func(a []any) error { return BoundList(numberAt(a, 1)) },

	"wrapWith": func(a []any) error {
		return BoundText(times(len(textAt(a, 2))/max(numberAt(a, 0), 1)+1, len(textAt(a, 1))))
	},

	"until":     func(a []any) error { return generated(numberAt(a, 0)) },
	"untilStep": func(a []any) error { return generated(steps(numberAt(a, 0), numberAt(a, 1), numberAt(a, 2))) },
	"seq":       seqCost,

	"regexReplaceAll":            func(a []any) error { return regexCost(textAt(a, 0), textAt(a, 1), textAt(a, 2), true) },
	"mustRegexReplaceAll":        func(a []any) error { return regexCost(textAt(a, 0), textAt(a, 1), textAt(a, 2), true) },
	"regexReplaceAllLiteral":     func(a []any) error { return regexCost(textAt(a, 0), textAt(a, 1), textAt(a, 2), false) },
	"mustRegexReplaceAllLiteral": func(a []any) error { return regexCost(textAt(a, 0), textAt(a, 1), textAt(a, 2), false) },
	"regexFindAll":               func(a []any) error { return BoundList(min(len(textAt(a, 1)), most(numberAt(a, 2)))) },
	"mustRegexFindAll":           func(a []any) error { return BoundList(min(len(textAt(a, 1)), most(numberAt(a, 2)))) },
	"regexSplit":                 func(a []any) error { return BoundList(min(len(textAt(a, 1)), most(numberAt(a, 2)))) },
	"mustRegexSplit":             func(a []any) error { return BoundList(min(len(textAt(a, 1)), most(numberAt(a, 2)))) },

	"printf": printfCost,

	"randAlphaNum": func(a []any) error { return generated(numberAt(a, 0)) },
	"randAlpha":    func(a []any) error { return generated(numberAt(a, 0)) },
	"randAscii":    func(a []any) error { return generated(numberAt(a, 0)) },
	"randNumeric":  func(a []any) error { return generated(numberAt(a, 0)) },
	"randBytes":    func(a []any) error { return generated(numberAt(a, 0)) },

	"toYaml": printCost, "toToml": printCost, "toJson": printCost, "mustToJson": printCost, "toRawJson": printCost, "mustToRawJson": printCost,
	"toPrettyJson": printCost, "mustToPrettyJson": printCost, "deepCopy": printCost, "mustDeepCopy": printCost, "toString": printCost, "quote": printCost, "squote": printCost,
	"cat": printCost, "print": printCost, "println": printCost, "html": printCost, "js": printCost, "urlquery": printCost, "toStrings": printCost, "sortAlpha": printCost,
}

// builders are the functions of templates that put values into others, whose result is
// weighed as a whole: it may have the same value many times, or itself.
var builders = []string{"list", "tuple", "dict", "set", "append", "mustAppend", "push", "mustPush", "prepend", "mustPrepend", "concat", "chunk", "mustChunk",
	"merge", "mustMerge", "mergeOverwrite", "mustMergeOverwrite"}

// BoundCall returns an error when the call of a function of templates would make more than 64
// MiB; nil for a function without a bound.
func BoundCall(name string, args ...any) error {
	if cost := costs[name]; cost != nil {
		return cost(args)
	}
	return nil
}

// mostGenerated is the maximum length of what a number alone makes, the same as for expr.
const mostGenerated = 1_000_000

// BoundTemplates returns the functions with bounds: a call whose result would take more than 64 MiB is an
// error, before the memory is taken where the result may be much larger than the arguments.
// The functions keep the types of their arguments, and return an error beside the result.
func BoundTemplates(functions map[string]any) map[string]any {
	out := make(map[string]any, len(functions))
	for name, fn := range functions {
		out[name] = boundTemplate(name, fn)
	}
	return out
}

func boundTemplate(name string, fn any) any {
	f := reflect.ValueOf(fn)
	t := f.Type()
	cost, builds := costs[name], slices.Contains(builders, name)
	in, out := make([]reflect.Type, t.NumIn()), []reflect.Type{t.Out(0), errorType}
	for i := range in {
		in[i] = t.In(i)
	}
	return reflect.MakeFunc(reflect.FuncOf(in, out, t.IsVariadic()), func(args []reflect.Value) []reflect.Value {
		if cost != nil {
			if err := cost(argumentsOf(args, t.IsVariadic())); err != nil {
				return failed(t.Out(0), fmt.Errorf("%s: %w", name, err))
			}
		}
		call := f.Call
		if t.IsVariadic() {
			call = f.CallSlice
		}
		results := call(args)
		if len(results) > 1 && !results[1].IsNil() {
			return results
		}
		made := results[0].Interface()
		err := boundResult(made)
		if builds && err == nil {
			err = BoundValue(made, 0)
		}
		if err != nil {
			return failed(t.Out(0), fmt.Errorf("%s: %w", name, err))
		}
		return []reflect.Value{results[0], reflect.Zero(errorType)}
	}).Interface()
}

func failed(t reflect.Type, err error) []reflect.Value {
	return []reflect.Value{reflect.Zero(t), reflect.ValueOf(&err).Elem()}
}

// argumentsOf returns the arguments of a call; the last ones of a variadic function are a slice.
func argumentsOf(args []reflect.Value, variadic bool) []any {
	var out []any
	for i, a := range args {
		if variadic && i == len(args)-1 {
			for j := range a.Len() {
				out = append(out, a.Index(j).Interface())
			}
			continue
		}
		out = append(out, a.Interface())
	}
	return out
}

// textAt returns an argument that is a text; empty for any other.
func textAt(args []any, i int) string {
	if i >= len(args) {
		return ""
	}
	s, _ := args[i].(string)
	return s
}

// numberAt returns an argument that is a number; 0 for any other.
func numberAt(args []any, i int) int {
	if i >= len(args) {
		return 0
	}
	n, _ := toInt(args[i])
	return n
}

// most returns the number that a limit permits, where a negative one is no limit.
func most(limit int) int {
	if limit < 0 {
		return 1 << 62
	}
	return limit
}

func generated(n int) error {
	if n > mostGenerated || n < -mostGenerated {
		return fmt.Errorf("want at most %d", mostGenerated)
	}
	return nil
}

func steps(from, to, step int) int {
	if step == 0 {
		return 0
	}
	return (to - from) / step
}

func seqCost(a []any) error {
	switch len(a) {
	case 1:
		return generated(numberAt(a, 0))
	case 2:
		return generated(numberAt(a, 1) - numberAt(a, 0))
	case 3:
		return generated(steps(numberAt(a, 0), numberAt(a, 2), numberAt(a, 1)))
	}
	return nil
}

func indentCost(a []any) error {
	if err := generated(numberAt(a, 0)); err != nil {
		return err
	}
	s := textAt(a, 1)
	return BoundText(len(s) + times(strings.Count(s, "\n")+1, numberAt(a, 0)))
}

// joinCost bounds a text of the items of a list with a separator between them.
func joinCost(by string, a []any, i int) error {
	if i >= len(a) {
		return nil
	}
	if err := BoundValue(a[i], 0); err != nil {
		return err
	}
	if r := reflect.ValueOf(a[i]); r.Kind() == reflect.Slice || r.Kind() == reflect.Array {
		return BoundText(times(r.Len(), len(by)))
	}
	return nil
}

func splitCost(s, by string) error {
	if by == "" {
		return BoundList(len(s))
	}
	return BoundList(strings.Count(s, by) + 1)
}

func replaceCost(s, old, with string, most int) error {
	n := len(s) + 1
	if old != "" {
		n = strings.Count(s, old)
	}
	if most >= 0 {
		n = min(n, most)
	}
	return BoundText(len(s) + times(n, len(with)))
}

// regexCost bounds the text that a replacement makes. With groups, $1 in it stands for a part of a
// match; all matches together are not longer than the text.
func regexCost(pattern, s, with string, groups bool) error {
	refs := 0
	if groups {
		refs = strings.Count(with, "$")
	}
	fixed := len(s) + times(refs, len(s))
	if BoundText(fixed+times(len(s)+1, len(with))) == nil {
		return nil
	}
	if err := BoundText(fixed); err != nil {
		return err
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil //nolint:nilerr // the function reports it
	}
	limit := (maxDecoded - fixed) / max(len(with), 1)
	if len(re.FindAllStringIndex(s, limit+1)) > limit {
		return BoundText(-1)
	}
	return nil
}

// printfCost bounds what a format makes: its widths, which fmt limits to a million each, and
// its values.
func printfCost(a []any) error {
	format := textAt(a, 0)
	total, width := 0, 0
	for i := range len(format) {
		switch c := format[i]; {
		case c >= '0' && c <= '9':
			width = min(width*10+int(c-'0'), mostGenerated)
		case c == '*':
			width = mostGenerated
		default:
			total, width = total+width, 0
		}
	}
	if err := BoundText(len(format) + total); err != nil {
		return err
	}
	return printCost(a)
}

// printCost bounds the text of the arguments, as in indented JSON or YAML.
func printCost(a []any) error {
	for _, v := range a {
		if err := BoundValue(v, 2); err != nil {
			return err
		}
	}
	return nil
}
