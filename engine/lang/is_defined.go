package lang

import "github.com/expr-lang/expr/ast"

// rewriteDefined turns `VALUE is defined` into a look-up that reports whether there is
// anything, null included. A value that is no look-up is defined unless it is null.
func rewriteDefined(n *ast.Node, value ast.Node, negated bool) {
	var out ast.Node = &ast.BinaryNode{Operator: "!=", Left: value, Right: &ast.NilNode{}}
	if t, ok := value.(*ast.CallNode); ok {
		if f, ok := t.Callee.(*ast.IdentifierNode); ok && f.Value == tryName {
			out = &ast.CallNode{Callee: &ast.IdentifierNode{Value: hasName}, Arguments: t.Arguments}
		}
	}
	if negated {
		out = &ast.UnaryNode{Operator: "!", Node: out}
	}
	ast.Patch(n, out)
}
