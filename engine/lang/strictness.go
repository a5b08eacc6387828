package lang

import (
	"fmt"
	"unicode"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"

	"deployer/engine/lang/dialect"
	"deployer/strictyaml"
)

// strictness collects what an expression reads and calls, and rewrites its look-ups. Nodes
// are identified by their place in the source: newStrictness parses the expression once to
// fill the maps, and the compiler parses it again and visits the tree from the leaves up.
type strictness struct {
	refs      Refs
	tolerant  map[file.Location]bool   // nil instead of an error
	untouched map[file.Location]bool   // names of functions
	locals    map[string]bool          // names that `let` defines
	hostVars  map[file.Location]bool   // look-ups of variables of another host
	fields    map[file.Location]string // the field that is read, of names of which only one field is
	unknown   []*ast.IdentifierNode    // functions that do not exist
	method    *ast.StringNode          // the name of a method that is called and does not exist; nil for none
	definite  []*ast.IdentifierNode    // variables that are read on every host
	called    map[string]dialect.Func  // functions of package dialect
	lookups   []*ast.CallNode
	// definiteLookups are the lookups that are evaluated on every host.
	definiteLookups []*ast.CallNode
	isPath          bool // the expression is a path of names, none of which may be missing
}

func newStrictness(src string) (*strictness, error) {
	tree, err := parser.Parse(src)
	if err != nil {
		return nil, err
	}
	s := &strictness{tolerant: map[file.Location]bool{}, untouched: map[file.Location]bool{}, locals: map[string]bool{}, hostVars: map[file.Location]bool{}, fields: map[file.Location]string{}, called: map[string]dialect.Func{}}
	ast.Walk(&tree.Node, visit(s.collectContext))
	ast.Walk(&tree.Node, visit(s.collectRefs))
	s.collectDefinite(tree.Node)
	path := memberPath(tree.Node)
	s.isPath = path != nil && path[0] != omitName && len(s.tolerant) == 0
	if s.method != nil {
		err := &file.Error{Location: s.method.Location(), Message: fmt.Sprintf("values have no method %s", s.method.Value)}
		return nil, err.Bind(tree.Source)
	}
	for _, f := range s.unknown {
		name := dialect.Shown(f.Value)
		err := &file.Error{Location: f.Location(), Message: fmt.Sprintf("unknown function %q%s", name, strictyaml.Hint(name, language.Names()))}
		return nil, err.Bind(tree.Source)
	}
	return s, nil
}

// functions returns the functions of package dialect that the expression calls.
func (s *strictness) functions() []expr.Option {
	var out []expr.Option
	for name, f := range s.called {
		out = append(out, expr.Function(name, f))
	}
	return out
}

type visit func(*ast.Node)

// Visit implements ast.Visitor.
func (v visit) Visit(n *ast.Node) { v(n) }

func (s *strictness) collectContext(n *ast.Node) {
	switch t := (*n).(type) {
	case *ast.VariableDeclaratorNode:
		s.locals[t.Name] = true
	case *ast.CallNode:
		s.untouched[t.Callee.Location()] = true
		s.call(t)
	case *ast.MemberNode:
		if field, ok := t.Property.(*ast.StringNode); ok {
			s.fields[t.Node.Location()] = field.Value
		}
		if m, ok := t.Node.(*ast.MemberNode); ok && isText(m.Property, "vars") && fromHosts(m.Node) {
			s.hostVars[t.Location()] = true
		}
		if t.Optional {
			s.tolerant[t.Location()] = true
			s.tolerant[t.Node.Location()] = true
		}
	case *ast.BinaryNode:
		if t.Operator == "??" {
			ast.Walk(&t.Left, visit(func(l *ast.Node) { s.tolerant[(*l).Location()] = true }))
		}
		// "x" in $env asks for one name, not for all.
		if name, ok := t.Left.(*ast.StringNode); ok && t.Operator == "in" && isEnv(t.Right) {
			s.refs.Add(name.Value)
			s.refs.test(name.Value)
			s.untouched[t.Right.Location()] = true
		}
	}
}

// call records the function that is called. Functions of expr itself are another kind of
// node.
func (s *strictness) call(t *ast.CallNode) {
	if m, ok := t.Callee.(*ast.MemberNode); ok {
		s.callMethod(m)
	}
	f, ok := t.Callee.(*ast.IdentifierNode)
	if !ok {
		return
	}
	if (isDefault(f.Value) || isDefinedTest(f.Value)) && len(t.Arguments) > 0 {
		ast.Walk(&t.Arguments[0], visit(func(l *ast.Node) { s.tolerant[(*l).Location()] = true }))
	}
	if isLookup(f.Value) {
		s.lookups = append(s.lookups, t)
	} else if fn, known := language.Function(f.Value); known {
		s.called[f.Value] = fn
	} else if f.Value != versionName {
		s.unknown = append(s.unknown, f)
	}
}

// callMethod records a method that no value has: those of times and durations of expr begin
// with a capital letter, those of Jinja's values do not exist here.
func (s *strictness) callMethod(m *ast.MemberNode) {
	if name, ok := m.Property.(*ast.StringNode); ok && name.Value != "" && unicode.IsLower(rune(name.Value[0])) {
		s.method = name
	}
}

// isDefault reports whether a function is Ansible's default, whose value may be missing.
func isDefault(name string) bool { return name == "default" || name == "d" }

// isDefinedTest reports whether a function is the test `is defined` or `is not defined`.
func isDefinedTest(name string) bool {
	return name == dialect.DefinedName || name == dialect.NotDefinedName
}

func (s *strictness) collectRefs(n *ast.Node) {
	id, ok := (*n).(*ast.IdentifierNode)
	switch {
	case !ok || s.untouched[id.Location()] || s.locals[id.Value] || id.Value == omitName:
	case isEnv(id):
		s.refs.all = true
	default:
		if s.tolerant[id.Location()] {
			s.refs.test(id.Value)
		}
		if field, one := s.fields[id.Location()]; one {
			s.refs.addField(id.Value, field)
			return
		}
		s.refs.Add(id.Value)
	}
}

func isEnv(n ast.Node) bool {
	id, ok := n.(*ast.IdentifierNode)
	return ok && id.Value == "$env"
}

// Visit rewrites one look-up.
func (s *strictness) Visit(n *ast.Node) {
	if call, ok := (*n).(*ast.CallNode); ok {
		s.visitCall(n, call) // a call has the place of its name
		return
	}
	if s.untouched[(*n).Location()] {
		return
	}
	switch t := (*n).(type) {
	case *ast.IdentifierNode:
		if t.Value == omitName && !s.locals[t.Value] {
			ast.Patch(n, &ast.StringNode{Value: OmitMark})
		} else if !isEnv(t) && !s.locals[t.Value] {
			s.patch(n, &ast.IdentifierNode{Value: "$env"}, &ast.StringNode{Value: t.Value})
		}
	case *ast.MemberNode:
		if !t.Method {
			s.patch(n, t.Node, t.Property)
		}
	case *ast.BinaryNode:
		rewriteIn(n, t)
		rewriteAdd(n, t)
	case *ast.BuiltinNode:
		rewriteBounded(t)
		rewriteOrdered(n, t)
		rewriteFromJSON(n, t)
	}
}

// visitCall rewrites a call of default, of a test of definition, of a choice or of a lookup.
func (s *strictness) visitCall(n *ast.Node, t *ast.CallNode) {
	f, ok := t.Callee.(*ast.IdentifierNode)
	switch {
	case !ok:
	case isDefault(f.Value):
		s.rewriteDefault(n, t.Arguments)
	case isDefinedTest(f.Value) && len(t.Arguments) == 1:
		rewriteDefined(n, t.Arguments[0], f.Value == dialect.NotDefinedName)
	case f.Value == dialect.ChoiceName && len(t.Arguments) == 3:
		ast.Patch(n, &ast.ConditionalNode{Cond: t.Arguments[1], Exp1: t.Arguments[0], Exp2: t.Arguments[2]})
	case isLookup(f.Value):
		rewriteLookup(n, t, f.Value)
	}
}

func (s *strictness) patch(n *ast.Node, of, key ast.Node) {
	name := getName
	if s.hostVars[(*n).Location()] {
		name = getHostVarName
	}
	if s.tolerant[(*n).Location()] {
		name = tryName
	}
	ast.Patch(n, &ast.CallNode{Callee: &ast.IdentifierNode{Value: name}, Arguments: []ast.Node{of, key}})
}

// fromHosts reports whether a node selects one host: hosts.NAME or hosts[NAME].
func fromHosts(n ast.Node) bool {
	m, ok := n.(*ast.MemberNode)
	if !ok {
		return false
	}
	id, ok := m.Node.(*ast.IdentifierNode)
	return ok && id.Value == "hosts"
}

func isText(n ast.Node, text string) bool {
	s, ok := n.(*ast.StringNode)
	return ok && s.Value == text
}

// omitName is the name that leaves an argument out, as in {{ item.shell | default(omit) }}:
// the module then has its default.
const omitName = "omit"

// OmitMark is the value of omit: an argument that is this text is left out.
const OmitMark = "__omitted_argument__"
