package dialect

import (
	"maps"
	"slices"
	"strings"

	"github.com/expr-lang/expr/builtin"
)

// Func is a function as expr calls it.
type Func func(args ...any) (any, error)

// Language holds the functions of expressions beside those of expr: the filters of
// Ansible and the functions of text/template. When functions have the same name, a
// call means that of expr, else that of Ansible, else that of the templates; behind a
// | the filter of Ansible comes first. Language is safe for concurrent use.
type Language struct {
	calls map[string]Func
	piped map[string]bool // filters with a name of its own behind a |
}

// NamedName is the function that makes a named argument of an expression.
const NamedName = "__named"

// Suffixes of functions that a | calls: a filter of Ansible with a name of expr's, and
// a function of templates, which takes the value in front of the | as its last argument.
const (
	filterSuffix = "__filter"
	lastSuffix   = "__last"
)

// New returns a language with the given functions of templates.
func New(templates map[string]any) *Language {
	l := &Language{calls: map[string]Func{NamedName: makeNamed, ChoiceName: choose}, piped: map[string]bool{}}
	for name, fn := range BoundTemplates(templates) {
		l.calls[name] = adapt(name, fn, false)
		l.calls[name+lastSuffix] = adapt(name, fn, true)
	}
	for name, fn := range filters() {
		l.calls[name+filterSuffix] = positional(name, fn)
		delete(l.calls, name+lastSuffix)
		if !fn.piped {
			l.calls[name] = l.calls[name+filterSuffix]
		}
		l.piped[name] = fn.piped || exprHas(name)
	}
	for name := range testArguments {
		l.calls[name+isSuffix] = positional(name, test(name, false))
		l.calls[name+isNotSuffix] = positional(name, test(name, true))
	}
	return l
}

// Function returns the function that an expression calls by a name that expr does not know.
func (l *Language) Function(name string) (Func, bool) {
	f, ok := l.calls[name]
	return f, ok
}

// Names returns the names of all functions, sorted, for suggestions.
func (l *Language) Names() []string {
	names := slices.Clone(builtin.Names)
	for name := range maps.Keys(l.calls) {
		if !strings.Contains(name, "__") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// filterName returns the function that a name behind a | means.
func (l *Language) filterName(name string, called, plain bool) string {
	_, filter := l.calls[name+filterSuffix]
	_, template := l.calls[name+lastSuffix]
	switch {
	case filter && exprHas(name) && takesPredicate(name) && called && !plain:
		return name
	case l.piped[name]:
		return name + filterSuffix
	case filter || exprHas(name) || !template:
		return name
	}
	return name + lastSuffix
}

func exprHas(name string) bool { return slices.Contains(builtin.Names, name) && name != "now" }

// takesPredicate reports whether a function of expr evaluates an argument for each item.
func takesPredicate(name string) bool {
	f := builtin.Index[name]
	return builtin.Builtins[f].Predicate
}

// Shown returns the name of a function as people write it.
func Shown(name string) string {
	return strings.NewReplacer(filterSuffix, "", lastSuffix, "", isNotSuffix, "", isSuffix, "").Replace(name)
}

// HasFilter reports whether a filter of Ansible is available behind a |, by its own name.
func HasFilter(name string) bool {
	_, ours := filters()[name]
	return ours || name == "abs" || name == "reverse"
}
