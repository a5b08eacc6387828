package lang

import (
	"fmt"
	"strings"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/vm/runtime"
)

// inName is the function of `A in B`, whose B may be a text here, as in Ansible.
const inName = "__in"

// rewriteIn turns `A in B` into a call, except for a B that is written as a list or a range.
func rewriteIn(n *ast.Node, t *ast.BinaryNode) {
	if t.Operator != "in" || isEnv(t.Right) {
		return
	}
	if _, list := t.Right.(*ast.ArrayNode); list {
		return
	}
	if b, ok := t.Right.(*ast.BinaryNode); ok && b.Operator == ".." {
		return
	}
	ast.Patch(n, &ast.CallNode{Callee: &ast.IdentifierNode{Value: inName}, Arguments: []ast.Node{t.Left, t.Right}})
}

// in reports whether a text contains another one, a list an item, or a mapping a key.
func in(args ...any) (any, error) {
	part, whole := args[0], args[1]
	text, ok := whole.(string)
	if !ok {
		return runtime.In(part, whole), nil // panics are turned into errors by the vm
	}
	p, ok := part.(string)
	if !ok {
		return nil, fmt.Errorf("a text contains only texts, not %s", Describe(part))
	}
	return strings.Contains(text, p), nil
}
