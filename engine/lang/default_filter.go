package lang

import (
	"github.com/expr-lang/expr/ast"

	"deployer/engine/lang/dialect"
)

// rewriteDefault turns `value | default(other)` into a choice, so that other is evaluated
// only when value is missing or null, or with true behind it empty.
func (s *strictness) rewriteDefault(n *ast.Node, args []ast.Node) {
	var list []ast.Node
	var other, falsy ast.Node = &ast.StringNode{}, nil
	for _, a := range args {
		name, value := namedArgument(a)
		switch name {
		case "default_value":
			other = value
		case "boolean":
			falsy = value
		default:
			list = append(list, a)
		}
	}
	if len(list) == 0 || len(list) > 3 {
		return // the function reports the wrong number of arguments
	}
	if len(list) > 1 {
		other = list[1]
	}
	if len(list) > 2 {
		falsy = list[2]
	}
	found := list[0]
	if falsy != nil {
		found = &ast.ConditionalNode{Cond: &ast.BinaryNode{Operator: "||",
			Left:  &ast.CallNode{Callee: &ast.IdentifierNode{Value: truthyName}, Arguments: []ast.Node{found}},
			Right: &ast.UnaryNode{Operator: "!", Node: &ast.CallNode{Callee: &ast.IdentifierNode{Value: truthyName}, Arguments: []ast.Node{falsy}}}},
			Exp1: found, Exp2: &ast.NilNode{}}
	}
	ast.Patch(n, &ast.BinaryNode{Operator: "??", Left: found, Right: other})
}

// namedArgument splits NAME=VALUE; the name of any other argument is empty.
func namedArgument(n ast.Node) (string, ast.Node) {
	c, ok := n.(*ast.CallNode)
	if !ok {
		return "", n
	}
	f, ok := c.Callee.(*ast.IdentifierNode)
	if !ok || f.Value != dialect.NamedName || len(c.Arguments) != 2 {
		return "", n
	}
	name, _ := c.Arguments[0].(*ast.StringNode)
	if name == nil {
		return "", n
	}
	return name.Value, c.Arguments[1]
}

func truthy(args ...any) (any, error) { return dialect.Truthy(args[0]), nil }
