package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// symbolLink is a link of architecture.md to a declaration: [`Type.Method`](../dir/file.go).
var symbolLink = regexp.MustCompile("\\[`([A-Za-z_][A-Za-z0-9_.]*)`\\]\\(([^)#]+\\.go)\\)")

// anyLink is a link to a file of the repository.
var anyLink = regexp.MustCompile(`\]\(([^):#]+)\)`)

// TestArchitectureLinks resolves every link of architecture.md: files exist, and a Go
// file declares the symbol that the link names.
func TestArchitectureLinks(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range anyLink.FindAllStringSubmatch(string(page), -1) {
		if _, err := os.Stat(filepath.FromSlash(link[1])); err != nil {
			t.Errorf("link to a file that does not exist: %v", err)
		}
	}
	links := symbolLink.FindAllStringSubmatch(string(page), -1)
	if len(links) < 20 {
		t.Errorf("%d links to symbols: the page or the pattern has changed", len(links))
	}
	declared := map[string]map[string]bool{}
	for _, link := range links {
		symbol, path := link[1], link[2]
		if declared[path] == nil {
			declared[path] = declarations(t, path)
		}
		if !declared[path][symbol] {
			t.Errorf("%s does not declare %s", strings.TrimPrefix(path, "../"), symbol)
		}
	}
}

// declarations returns the functions, "Type.Method"s, types, constants and variables of a
// file.
func declarations(t *testing.T, path string) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Errorf("%v", err)
		return out
	}
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			out[receiver(d)+d.Name.Name] = true
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					out[s.Name.Name] = true
					members(s, out)
				case *ast.ValueSpec:
					for _, name := range s.Names {
						out[name.Name] = true
					}
				}
			}
		}
	}
	return out
}

// receiver returns "Type." for a method and "" for a function.
func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return ""
	}
	kind := d.Recv.List[0].Type
	if star, ok := kind.(*ast.StarExpr); ok {
		kind = star.X
	}
	if generic, ok := kind.(*ast.IndexExpr); ok {
		kind = generic.X
	}
	name, ok := kind.(*ast.Ident)
	if !ok {
		return ""
	}
	return name.Name + "."
}

// members adds the fields of a struct and the methods of an interface.
func members(s *ast.TypeSpec, out map[string]bool) {
	var fields *ast.FieldList
	switch kind := s.Type.(type) {
	case *ast.StructType:
		fields = kind.Fields
	case *ast.InterfaceType:
		fields = kind.Methods
	default:
		return
	}
	for _, field := range fields.List {
		for _, name := range field.Names {
			out[s.Name.Name+"."+name.Name] = true
		}
	}
}
