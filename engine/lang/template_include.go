package lang

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/template"
	"text/template/parse"
)

// includeFunc renders another template file of the same owner, as in {{ include
// "Corefile.tmpl" . | sha256sum }}. The name is a constant, so that the variables that a
// template reads are known before the run and no file can include itself.
const includeFunc = "include"

// include is the function as templates of these files call it.
func (f *Files) include(name string, vars map[string]any) (string, error) {
	t, err := f.Template(name)
	if err != nil {
		return "", err
	}
	return t.Text(vars)
}

// includedNames returns the constant names that a template includes.
func includedNames(t *template.Template) ([]string, error) {
	var names []string
	var errs []error
	for _, part := range t.Templates() {
		if part.Tree == nil || part.Root == nil {
			continue
		}
		eachCommand(part.Root, func(c *parse.CommandNode) {
			if id, ok := c.Args[0].(*parse.IdentifierNode); !ok || id.Ident != includeFunc {
				return
			}
			if len(c.Args) != 3 {
				errs = append(errs, errors.New(`include takes the name of a template file and the variables, as in include "file.tmpl" $`))
				return
			}
			name, ok := c.Args[1].(*parse.StringNode)
			if !ok {
				errs = append(errs, fmt.Errorf("include takes the name of its template as a constant, not %s", c.Args[1]))
				return
			}
			names = append(names, name.Text)
		})
	}
	return names, errors.Join(errs...)
}

// mergeIncluded adds the variables that the included templates read to those of t. chain
// are the files that lead here.
func (f *Files) mergeIncluded(t *Template, chain []string) error {
	names, err := includedNames(t.tpl)
	if err != nil {
		return t.orig.Start.Errorf("template: %v", err)
	}
	for _, name := range names {
		other, err := f.template(name, chain)
		if err != nil {
			return err
		}
		t.refs.Merge(other.refs)
		if slices.Contains(t.includes, name) {
			t.definite = append(t.definite, other.definite...)
		}
		t.setsVars = t.setsVars || other.setsVars
	}
	if t.setsVars {
		t.definite = nil
	}
	return nil
}

func includeCycleError(chain []string, name string) error {
	return fmt.Errorf("templates include each other: %s", strings.Join(append(chain, name), " -> "))
}

// eachCommand calls visit for every command below a node, those in parentheses too.
func eachCommand(n parse.Node, visit func(*parse.CommandNode)) {
	switch t := n.(type) {
	case *parse.ListNode:
		if t != nil {
			for _, c := range t.Nodes {
				eachCommand(c, visit)
			}
		}
	case *parse.ActionNode:
		eachCommand(t.Pipe, visit)
	case *parse.IfNode:
		eachBranch(&t.BranchNode, visit)
	case *parse.RangeNode:
		eachBranch(&t.BranchNode, visit)
	case *parse.WithNode:
		eachBranch(&t.BranchNode, visit)
	case *parse.TemplateNode:
		eachCommand(t.Pipe, visit)
	case *parse.ChainNode:
		eachCommand(t.Node, visit)
	case *parse.PipeNode:
		if t != nil {
			for _, c := range t.Cmds {
				visit(c)
				for _, a := range c.Args {
					eachCommand(a, visit)
				}
			}
		}
	}
}

func eachBranch(b *parse.BranchNode, visit func(*parse.CommandNode)) {
	eachCommand(b.Pipe, visit)
	eachCommand(b.List, visit)
	eachCommand(b.ElseList, visit)
}
