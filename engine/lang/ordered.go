package lang

import (
	"fmt"
	"maps"
	"slices"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
)

// The parts of a mapping are sorted by key. The library's own functions return them
// in random order: the items of a loop would change places between a plan and its
// run, and a file would be rewritten by each run.

// ordered replaces functions of the expression language, and of templates, that
// return the parts of a mapping in no particular order: the result is sorted by key.
var ordered = map[string]func(m map[string]any) []any{
	"keys": func(m map[string]any) []any {
		return mapSorted(m, func(k string) any { return k })
	},
	"values": func(m map[string]any) []any {
		return mapSorted(m, func(k string) any { return m[k] })
	},
	"toPairs": func(m map[string]any) []any {
		return mapSorted(m, func(k string) any { return []any{k, m[k]} })
	},
}

func mapSorted(m map[string]any, item func(key string) any) []any {
	out := make([]any, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, item(k))
	}
	return out
}

// inOrder returns the name by which Visit calls an ordered function.
func inOrder(name string) string { return "__" + name }

// orderedCalls returns the ordered functions for the expression language.
func orderedCalls() []expr.Option {
	var out []expr.Option
	for name, list := range ordered {
		out = append(out, expr.Function(inOrder(name), func(args ...any) (any, error) {
			m, ok := args[0].(map[string]any)
			if !ok {
				return nil, fmt.Errorf("%s wants a mapping, got %s", name, Describe(args[0]))
			}
			return list(m), nil
		}))
	}
	return out
}

// rewriteOrdered replaces a call of a function that has an ordered replacement.
func rewriteOrdered(n *ast.Node, call *ast.BuiltinNode) {
	if ordered[call.Name] != nil && len(call.Arguments) == 1 {
		ast.Patch(n, &ast.CallNode{Callee: &ast.IdentifierNode{Value: inOrder(call.Name)}, Arguments: call.Arguments})
	}
}

// orderedKeys is sprig's keys, which takes several mappings, with sorted keys.
func orderedKeys(ms ...map[string]any) []any {
	var out []any
	for _, m := range ms {
		out = append(out, ordered["keys"](m)...)
	}
	return out
}
