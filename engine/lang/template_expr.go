package lang

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"text/template/parse"

	"deployer/jsontypes"
	"deployer/strictyaml"
)

// exprFunc evaluates an expression of playbooks in a template file, as in
// {{ expr "ports | max" $ }}. The expression is a constant, so that errors in it and the
// variables that it reads are known before the run. Pairs behind the variables are further
// names with their values: {{ expr "user.name | upper" $ "user" $user }}.
const exprFunc = "expr"

// errExprForm is the error for a call of another form.
var errExprForm = errors.New(`expr takes a constant expression, the variables, and names with their values, as in expr "user.name | upper" $ "user" $user`)

// templateExpr is an expression in a template file.
type templateExpr struct {
	*Expr
	names []string // names behind the variables
}

// compileExprs compiles the expressions of the template, and adds the variables that they
// read to its references.
func (t *Template) compileExprs() error {
	t.exprs = map[string]*templateExpr{}
	var errs []error
	for _, part := range t.tpl.Templates() {
		if part.Tree == nil || part.Root == nil {
			continue
		}
		eachCommand(part.Root, func(c *parse.CommandNode) {
			if id, ok := c.Args[0].(*parse.IdentifierNode); ok && id.Ident == exprFunc {
				errs = append(errs, t.compileExpr(c))
			}
		})
	}
	return errors.Join(errs...)
}

func (t *Template) compileExpr(c *parse.CommandNode) error {
	pos := t.placeOf(c)
	if len(c.Args) < 3 || len(c.Args)%2 == 0 || !isVars(c.Args[2], true) {
		return pos.Errorf("template: %v", errExprForm)
	}
	src, ok := c.Args[1].(*parse.StringNode)
	if !ok {
		return pos.Errorf("template: %v", errExprForm)
	}
	made := &templateExpr{}
	for i := 3; i < len(c.Args); i += 2 {
		name, ok := c.Args[i].(*parse.StringNode)
		if !ok {
			return pos.Errorf("template: %v", errExprForm)
		}
		made.names = append(made.names, name.Text)
	}
	var err error
	if made.Expr, err = CompileExpr(src.Text, Origin{Start: pos, files: t.orig.files}); err != nil {
		return err
	}
	if strict, err := newStrictness(made.read.Text); err != nil || len(strict.lookups) > 0 {
		return pos.Errorf("template: a template file has no lookups; give the task that renders it a variable with the value, under vars")
	}
	t.exprs[src.Text] = made
	refs := made.refs
	for _, name := range made.names {
		refs = refs.without(name)
	}
	t.refs.Merge(refs)
	return nil
}

// evaluateExpr is the function as the template calls it.
func (t *Template) evaluateExpr(src string, vars map[string]any, pairs ...any) (any, error) {
	e := t.exprs[src]
	if e == nil || len(pairs)%2 != 0 {
		return nil, errExprForm
	}
	if len(pairs) > 0 {
		vars = maps.Clone(vars)
	}
	for i := 0; i < len(pairs); i += 2 {
		name, ok := pairs[i].(string)
		if !ok {
			return nil, fmt.Errorf("want a name, got %s", Describe(pairs[i]))
		}
		vars[name] = pairs[i+1]
	}
	v, err := e.Eval(vars)
	if err != nil {
		return nil, err
	}
	if v, err = ToVariable(v); err != nil {
		return nil, err
	}
	return jsontypes.Normalize(v), nil // 8 / 2 is a whole number
}

// placeOf returns the place of a command in the file.
func (t *Template) placeOf(c *parse.CommandNode) strictyaml.Pos {
	before := t.src[:min(int(c.Position()), len(t.src))]
	line := strings.Count(before, "\n") + 1
	return t.orig.at(line, len(before)-1-strings.LastIndexByte(before, '\n'))
}
