package lang

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"

	"deployer/ansible/jinja"
)

// The names of the lookups of Ansible after Visit, with all variables before their
// arguments.
const (
	lookupName = "__lookup"
	queryName  = "__query"
)

// isLookup reports whether a function reads from the machine that deployer runs on.
func isLookup(name string) bool { return name == "lookup" || name == "query" || name == "q" }

// rewriteLookup adds the variables to the arguments of a lookup.
func rewriteLookup(n *ast.Node, t *ast.CallNode, name string) {
	to := queryName
	if name == "lookup" {
		to = lookupName
	}
	args := append([]ast.Node{&ast.IdentifierNode{Value: "$env"}}, t.Arguments...)
	ast.Patch(n, &ast.CallNode{Callee: &ast.IdentifierNode{Value: to}, Arguments: args})
}

// lookups checks the lookups of the expression and returns their functions. A template file
// whose name is a constant is compiled now, so that the variables that it reads are known.
func (e *Expr) lookups(strict *strictness) ([]expr.Option, error) {
	for _, call := range strict.lookups {
		if err := e.checkLookup(call, slices.Contains(strict.definiteLookups, call)); err != nil {
			return nil, e.at(call.Location().From).Errorf("%s: %v", e.shown(), err)
		}
	}
	if len(strict.lookups) == 0 {
		return nil, nil
	}
	return []expr.Option{
		expr.Function(lookupName, func(args ...any) (any, error) {
			found, err := e.find(args)
			if err != nil {
				return nil, err
			}
			texts := make([]string, len(found))
			for i, v := range found {
				if texts[i], err = printed(v); err != nil {
					return nil, err
				}
			}
			return strings.Join(texts, ","), nil
		}),
		expr.Function(queryName, func(args ...any) (any, error) { return e.find(args) }),
	}, nil
}

// checkLookup checks the name of a lookup and adds the variables that its template files
// read to those of the expression; definite is true for a lookup that every host evaluates.
func (e *Expr) checkLookup(call *ast.CallNode, definite bool) error {
	if len(call.Arguments) == 0 {
		return errors.New("lookup wants the name of a lookup: file, env, password or template")
	}
	name, ok := call.Arguments[0].(*ast.StringNode)
	if !ok {
		return errors.New("lookup wants its name as a constant: file, env, password or template")
	}
	if lookupPlugins()[bareLookup(name.Value)] == nil {
		return fmt.Errorf("there is no lookup %q; there are file, env, password and template; %s", name.Value, jinja.LookupAdvice(name.Value))
	}
	if bareLookup(name.Value) != "template" {
		return nil
	}
	for _, arg := range call.Arguments[1:] {
		file, constant := arg.(*ast.StringNode)
		if !constant || e.orig.files == nil {
			e.refs.all = true
			continue
		}
		tpl, err := e.orig.files.Template(file.Value)
		if err != nil {
			return err
		}
		e.refs.Merge(tpl.refs)
		if definite {
			for _, use := range tpl.definite {
				use.User = fmt.Sprintf(" (the lookup at %s renders it)", e.at(call.Location().From))
				e.definite = append(e.definite, use)
			}
		}
	}
	return nil
}

// bareLookup returns the name of a lookup without its collection.
func bareLookup(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

// lookupPlugins returns the lookups of Ansible that exist here; each returns one value for
// each term.
func lookupPlugins() map[string]func(e *Expr, vars map[string]any, term string) (any, error) {
	return map[string]func(e *Expr, vars map[string]any, term string) (any, error){
		"file": func(e *Expr, _ map[string]any, term string) (any, error) {
			if e.orig.files == nil {
				return readAbsoluteFile(term)
			}
			data, err := e.orig.files.File(term)
			return strings.TrimRight(string(data), " \t\r\n"), err
		},
		"env":      func(_ *Expr, _ map[string]any, term string) (any, error) { return os.Getenv(term), nil },
		"password": func(e *Expr, _ map[string]any, term string) (any, error) { return password(e.orig.files, term) },
		"template": func(e *Expr, vars map[string]any, term string) (any, error) {
			if e.orig.files == nil {
				return nil, errors.New("the inventory has no template files; use this lookup in a playbook or a role")
			}
			tpl, err := e.orig.files.Template(term)
			if err != nil {
				return nil, err
			}
			return tpl.Content(vars)
		},
	}
}

func (e *Expr) find(args []any) ([]any, error) {
	vars, _ := args[0].(map[string]any)
	name, _ := args[1].(string)
	out := []any{}
	for _, a := range args[2:] {
		term, ok := a.(string)
		if !ok {
			return nil, fmt.Errorf("lookup %s: want a text, got %s", name, Describe(a))
		}
		v, err := e.lookup(bareLookup(name), vars, term)
		if err != nil {
			return nil, fmt.Errorf("lookup %s: %w", name, err)
		}
		out = append(out, v)
	}
	return out, nil
}

// lookup returns the value of one term.
func (e *Expr) lookup(name string, vars map[string]any, term string) (any, error) {
	if err := e.orig.lookups.refuse(name, vars); err != nil {
		return nil, err
	}
	return lookupPlugins()[name](e, vars, term)
}

// readAbsoluteFile reads a file that a variable of the inventory names.
func readAbsoluteFile(name string) (any, error) {
	if !strings.HasPrefix(name, "/") {
		return nil, errors.New("in the inventory, give the absolute path of the file")
	}
	data, err := os.ReadFile(name) //nolint:gosec // the author of the inventory names it
	return strings.TrimRight(string(data), " \t\r\n"), err
}
