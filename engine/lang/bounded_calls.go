package lang

import (
	"fmt"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/vm/runtime"

	"deployer/engine/lang/dialect"
)

// boundedBuiltins are functions of expr whose result may be much larger than their arguments,
// each with its bound. The other functions of expr have a budget of items.
var boundedBuiltins = map[string]func(args []any) error{
	"split":      func(a []any) error { return dialect.BoundCall("splitList", text(a, 1), text(a, 0)) },
	"splitAfter": func(a []any) error { return dialect.BoundCall("splitList", text(a, 1), text(a, 0)) },
	"repeat":     func(a []any) error { return dialect.BoundCall("repeat", at(a, 1), text(a, 0)) },
	"replace":    func(a []any) error { return dialect.BoundCall("replace", text(a, 1), text(a, 2), text(a, 0)) },
	"join":       func(a []any) error { return dialect.BoundCall("join", text(a, 1), at(a, 0)) },
	"toJSON":     func(a []any) error { return dialect.BoundValue(at(a, 0), 2) },
	"flatten":    func(a []any) error { return dialect.BoundValue(at(a, 0), 0) },
	"string":     func(a []any) error { return dialect.BoundValue(at(a, 0), 0) },
}

func at(args []any, i int) any {
	if i < len(args) {
		return args[i]
	}
	return nil
}

func text(args []any, i int) string {
	s, _ := at(args, i).(string)
	return s
}

// boundName is the function that checks the arguments of a function of expr and returns the
// first one; its own first argument is the name of the function.
const boundName = "__bound"

// addName is the operator + after Visit.
const addName = "__add"

// boundedCalls returns the functions of bounded calls.
func boundedCalls() []expr.Option {
	return []expr.Option{expr.Function(boundName, checkBound), expr.Function(addName, add)}
}

func checkBound(args ...any) (any, error) {
	name, _ := args[0].(string)
	if err := boundedBuiltins[name](args[1:]); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return args[1], nil
}

// rewriteBounded gives a function of expr its bound: split(x, y) becomes
// split(__bound("split", x, y), y).
func rewriteBounded(call *ast.BuiltinNode) {
	if boundedBuiltins[call.Name] == nil || len(call.Arguments) == 0 {
		return
	}
	checked := append([]ast.Node{&ast.StringNode{Value: call.Name}}, call.Arguments...)
	call.Arguments = append([]ast.Node{&ast.CallNode{Callee: &ast.IdentifierNode{Value: boundName}, Arguments: checked}}, call.Arguments[1:]...)
}

// rewriteAdd bounds the texts that + makes: #acc + #acc in reduce doubles its text with each item.
func rewriteAdd(n *ast.Node, b *ast.BinaryNode) {
	if b.Operator == "+" && !isNumber(b.Left) && !isNumber(b.Right) {
		ast.Patch(n, &ast.CallNode{Callee: &ast.IdentifierNode{Value: addName}, Arguments: []ast.Node{b.Left, b.Right}})
	}
}

func isNumber(n ast.Node) bool {
	switch n.(type) {
	case *ast.IntegerNode, *ast.FloatNode:
		return true
	}
	return false
}

// add is + for values of any type; an error of expr is a panic, as in the operator itself.
func add(args ...any) (any, error) {
	a, ok := args[0].(string)
	b, good := args[1].(string)
	if !ok || !good {
		return runtime.Add(args[0], args[1]), nil
	}
	if err := dialect.BoundText(len(a) + len(b)); err != nil {
		return nil, err
	}
	return a + b, nil
}
