package lang

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"

	"deployer/engine/journal"
)

// Explain returns the values that an expression reads, as "result.rc: 1", each once in the
// order of the source: names and the fields of names that are written out. Names that do
// not exist are left out.
func (e *Expr) Explain(vars map[string]any) []string {
	tree, err := parser.Parse(e.read.Text)
	if err != nil {
		return nil // the expression was compiled, so this does not happen
	}
	l := &pathCollector{inner: map[file.Location]bool{}, locals: map[string]bool{}}
	ast.Walk(&tree.Node, visit(l.outline))
	ast.Walk(&tree.Node, visit(l.gather))
	var out []string
	for _, path := range l.paths {
		value, ok := valueAt(vars, path)
		if !ok {
			continue
		}
		text := shownValue(value)
		if slices.ContainsFunc(path, journal.LooksSecret) {
			text = "not shown, as it is called like a secret"
		}
		if line := sourceOf(path) + ": " + text; !slices.Contains(out, line) {
			out = append(out, line)
		}
	}
	return out
}

// pathCollector finds the longest paths of fields in an expression.
type pathCollector struct {
	inner  map[file.Location]bool // parts of a longer path, and names of functions
	locals map[string]bool
	paths  [][]string
}

func (l *pathCollector) outline(n *ast.Node) {
	switch t := (*n).(type) {
	case *ast.VariableDeclaratorNode:
		l.locals[t.Name] = true
	case *ast.CallNode:
		l.inner[t.Callee.Location()] = true
	case *ast.MemberNode:
		if _, ok := t.Property.(*ast.StringNode); ok && memberPath(t.Node) != nil {
			l.inner[t.Node.Location()] = true
		}
	}
}

func (l *pathCollector) gather(n *ast.Node) {
	if path := memberPath(*n); path != nil && !l.inner[(*n).Location()] && !l.locals[path[0]] {
		l.paths = append(l.paths, path)
	}
}

// memberPath returns the names of a look-up such as a.b.c; nil for any other node.
func memberPath(n ast.Node) []string {
	switch t := n.(type) {
	case *ast.IdentifierNode:
		if isEnv(t) {
			return nil
		}
		return []string{t.Value}
	case *ast.MemberNode:
		field, ok := t.Property.(*ast.StringNode)
		if above := memberPath(t.Node); ok && above != nil {
			return append(above, field.Value)
		}
	case *ast.ChainNode:
		return memberPath(t.Node)
	}
	return nil
}

func valueAt(vars map[string]any, path []string) (any, bool) {
	var value any = vars
	for _, name := range path {
		m, ok := value.(map[string]any)
		if !ok {
			return nil, false
		}
		if value, ok = m[name]; !ok {
			return nil, false
		}
	}
	return value, true
}

func sourceOf(path []string) string {
	out := path[0]
	for _, name := range path[1:] {
		out += "." + name
	}
	return out
}

// maxShownBytes is the length of the longest value that is shown.
const maxShownBytes = 500

// shownValue writes a value on one line if possible. A value is shown as a whole or not at
// all: a part of a secret would not be recognized as a secret.
func shownValue(v any) string {
	text, isText := v.(string)
	if !isText {
		raw, err := json.Marshal(v)
		if err != nil {
			return Describe(v)
		}
		text = string(raw)
	}
	switch {
	case len(text) > maxShownBytes:
		return fmt.Sprintf("%d bytes, too many to show", len(text))
	case isText:
		return `"` + text + `"`
	}
	return text
}
