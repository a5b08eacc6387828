package docgen

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strings"
)

// source has the comments of a package's types, for references of their JSON form.
type source map[string]sourceType

type sourceType struct {
	doc    string
	fields []sourceField
	// values are the constants of a text type, with their comments.
	values []sourceField
}

type sourceField struct {
	name string // in JSON; of a constant: its value
	typ  ast.Expr
	doc  string
}

// readSource parses the files of a package directory except tests.
func readSource(dir string) (source, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	out := source{}
	for _, e := range entries {
		if filepath.Ext(e.Name()) != ".go" || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, e.Name()), nil, parser.ParseComments)
		if err != nil {
			return nil, fmt.Errorf("reading comments: %w", err)
		}
		for _, d := range file.Decls {
			if g, ok := d.(*ast.GenDecl); ok {
				out.addDecl(g)
			}
		}
	}
	return out, nil
}

func (s source) addDecl(g *ast.GenDecl) {
	for _, spec := range g.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			t := s[spec.Name.Name]
			t.doc = withoutName(comment(spec.Doc, g.Doc), spec.Name.Name)
			if st, ok := spec.Type.(*ast.StructType); ok {
				t.fields = jsonFields(st)
			}
			s[spec.Name.Name] = t
		case *ast.ValueSpec:
			id, ok := spec.Type.(*ast.Ident)
			if !ok || g.Tok != token.CONST || len(spec.Values) != 1 {
				continue
			}
			if lit, ok := spec.Values[0].(*ast.BasicLit); ok {
				t := s[id.Name]
				t.values = append(t.values, sourceField{name: strings.Trim(lit.Value, `"`), doc: comment(spec.Doc, spec.Comment)})
				s[id.Name] = t
			}
		}
	}
}

func jsonFields(st *ast.StructType) []sourceField {
	var out []sourceField
	for _, f := range st.Fields.List {
		if f.Tag == nil {
			continue
		}
		tag := reflect.StructTag(strings.Trim(f.Tag.Value, "`"))
		name, _, _ := strings.Cut(tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		doc := comment(f.Doc, f.Comment)
		for _, id := range f.Names {
			doc = withoutName(doc, id.Name)
		}
		if doc == "" {
			doc = tag.Get("doc") // of a setting of the inventory that is a variable, too
		}
		out = append(out, sourceField{name: name, typ: f.Type, doc: doc})
	}
	return out
}

// comment joins the comments before and behind a declaration on one line.
func comment(groups ...*ast.CommentGroup) string {
	var parts []string
	for _, g := range groups {
		if text := strings.Join(strings.Fields(g.Text()), " "); text != "" {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, " ")
}

// withoutName removes the Go name, which readers of JSON do not know, and its verb from
// the beginning of a comment: "Failure is set when".
func withoutName(doc, name string) string {
	rest, ok := strings.CutPrefix(doc, name+" ")
	if !ok {
		return doc
	}
	for _, verb := range []string{"is ", "are "} {
		rest = strings.TrimPrefix(rest, verb)
	}
	return rest
}

// rows returns the fields of a type and of the types inside it, by dotted path.
func (s source) rows(name, path string) []sourceRow {
	var out []sourceRow
	for _, f := range s[name].fields {
		inner, suffix := elem(f.typ)
		row := sourceRow{path: path + f.name, typ: s.word(f.typ), doc: f.doc}
		id, ok := inner.(*ast.Ident)
		if ok && row.doc == "" {
			row.doc = s[id.Name].doc
		}
		out = append(out, row)
		if ok && len(s[id.Name].fields) > 0 && id.Name != name {
			out = append(out, s.rows(id.Name, row.path+suffix+".")...)
		}
	}
	return out
}

type sourceRow struct{ path, typ, doc string }

// elem returns the element type of pointers, lists and maps.
func elem(t ast.Expr) (ast.Expr, string) {
	switch t := t.(type) {
	case *ast.StarExpr:
		return elem(t.X)
	case *ast.ArrayType:
		inner, suffix := elem(t.Elt)
		return inner, "[]" + suffix
	case *ast.MapType:
		inner, suffix := elem(t.Value)
		return inner, ".NAME" + suffix
	}
	return t, ""
}

// word returns the name of a type as the other references use it.
func (s source) word(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return s.word(t.X)
	case *ast.ArrayType:
		return "list of " + s.word(t.Elt)
	case *ast.MapType:
		return "mapping of " + s.word(t.Value)
	case *ast.SelectorExpr: // json.RawMessage, time.Time, time.Duration, limit.Limit
		switch t.Sel.Name {
		case "Time":
			return "time, RFC 3339"
		case "Duration":
			return "nanoseconds"
		case "Limit": // its JSON form: 3 or 10%
			return "text"
		}
	case *ast.Ident:
		return s.named(t.Name)
	}
	return "any"
}

func (s source) named(name string) string {
	switch {
	case name == "string", len(s[name].values) > 0:
		return "text"
	case name == "bool":
		return "true or false"
	case strings.HasPrefix(name, "float"):
		return "number"
	case strings.HasPrefix(name, "int"), strings.HasPrefix(name, "uint"):
		return "whole number"
	case name == "any":
		return "any"
	}
	return "mapping"
}
