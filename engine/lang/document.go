package lang

import (
	"bytes"
	"strings"

	"gopkg.in/yaml.v3"

	"deployer/strictyaml"
)

// Document is one YAML file of a playbook or a role.
type Document struct {
	Name  string // as messages call it
	Root  *yaml.Node
	lines [][]byte
	files *Files // the files that its texts may name; nil for a file of the inventory
}

// ParseDocument parses a file; messages call the file name.
func ParseDocument(name string, data []byte) (*Document, error) {
	root, err := strictyaml.Parse(name, data)
	if err != nil {
		return nil, err
	}
	return &Document{Name: name, Root: root, lines: bytes.Split(data, []byte("\n"))}, nil
}

// WithFiles sets the files that the texts of the document may name, unless they are set. d
// may be nil.
func (d *Document) WithFiles(files *Files) *Document {
	if d != nil && d.files == nil {
		d.files = files
	}
	return d
}

// At returns the place of a node.
func (d *Document) At(n *yaml.Node) strictyaml.Pos { return strictyaml.At(d.Name, n) }

// Origin maps places inside the text of a scalar to places in its file.
type Origin struct {
	Start strictyaml.Pos
	// line and col are the file's line and column of the first character of the text;
	// indent is that of its later lines. exact is false when the text is folded or escaped,
	// so that only its start is known.
	line, col, indent int
	exact             bool
	files             *Files // see Document
	lookups           *Lookups
}

// Origin returns the place of the text of a scalar, for errors inside of the text.
func (d *Document) Origin(n *yaml.Node) Origin {
	o := Origin{Start: d.At(n), line: n.Line, col: n.Column, files: d.files}
	if d.files != nil {
		o.lookups = d.files.Lookups
	}
	switch {
	case n.Kind != yaml.ScalarNode:
	case n.Style&yaml.LiteralStyle != 0:
		o.line, o.exact = n.Line+1, true
		o.indent = d.indent(n.Line)
		o.col = o.indent + 1
	case n.Style&yaml.FoldedStyle != 0 || strings.Contains(n.Value, "\n"):
	case n.Style&yaml.DoubleQuotedStyle != 0:
		o.col++
		o.exact = !strings.ContainsAny(n.Value, "\\\"\t")
	case n.Style&yaml.SingleQuotedStyle != 0:
		o.col++
		o.exact = !strings.Contains(n.Value, "'")
	default:
		o.exact = true
	}
	return o
}

// indent returns the indentation of the first line with text after the given line (from 1).
func (d *Document) indent(line int) int {
	for _, l := range d.lines[min(line, len(d.lines)):] {
		if t := bytes.TrimLeft(l, " "); len(bytes.TrimSpace(t)) > 0 {
			return len(l) - len(t)
		}
	}
	return 0
}

// fileOrigin is the origin of a whole file, such as a template file.
func fileOrigin(name string) Origin {
	return Origin{Start: strictyaml.Pos{File: name, Line: 1, Col: 1}, line: 1, col: 1, exact: true}
}

// at returns the place of the given line (from 1) and column (from 0) of the text.
func (o Origin) at(line, col int) strictyaml.Pos {
	if !o.exact || line < 1 {
		return o.Start
	}
	p := strictyaml.Pos{File: o.Start.File, Line: o.line + line - 1, Col: o.col + col}
	if line > 1 {
		p.Col = o.indent + col + 1
	}
	return p
}

// MappingValue returns the value of a key of a mapping; the mapping itself when it
// lacks the key.
func MappingValue(n *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return n
}

// KeyPos returns the place of the value of a key; that of the mapping when it lacks the key.
func (d *Document) KeyPos(n *yaml.Node, key string) strictyaml.Pos {
	return d.At(MappingValue(n, key))
}
