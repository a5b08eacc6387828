package playbook

import (
	"bytes"
	"strings"

	"gopkg.in/yaml.v3"

	"deployer/strictyaml"
)

// document is one YAML file of a playbook or role.
type document struct {
	name  string // as shown to people
	root  *yaml.Node
	lines [][]byte
	files *Files // that its texts may name; nil when it is of no playbook and no role
}

func parseDocument(name string, data []byte) (*document, error) {
	root, err := strictyaml.Parse(name, data)
	if err != nil {
		return nil, err
	}
	return &document{name: name, root: root, lines: bytes.Split(data, []byte("\n"))}, nil
}

// of says whose files the texts of a document name. It may be nil.
func (d *document) of(files *Files) *document {
	if d != nil && d.files == nil {
		d.files = files
	}
	return d
}

func (d *document) at(n *yaml.Node) strictyaml.Pos { return strictyaml.At(d.name, n) }

// origin maps places inside the text of a scalar to places in its file.
type origin struct {
	start strictyaml.Pos
	// line and col are the file's line and column of the first character of
	// the text; indent is that of its later lines. exact is false when the
	// text is folded or escaped so that only the start is known.
	line, col, indent int
	exact             bool
	files             *Files // see document
}

func (d *document) origin(n *yaml.Node) origin {
	o := origin{start: d.at(n), line: n.Line, col: n.Column, files: d.files}
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

// indent is that of the first line with text after the given line (from 1).
func (d *document) indent(line int) int {
	for _, l := range d.lines[min(line, len(d.lines)):] {
		if t := bytes.TrimLeft(l, " "); len(bytes.TrimSpace(t)) > 0 {
			return len(l) - len(t)
		}
	}
	return 0
}

// fileOrigin is the origin of a whole file, such as a template file.
func fileOrigin(name string) origin {
	return origin{start: strictyaml.Pos{File: name, Line: 1, Col: 1}, line: 1, col: 1, exact: true}
}

// at is the place of the given line (from 1) and column (from 0) of the text.
func (o origin) at(line, col int) strictyaml.Pos {
	if !o.exact || line < 1 {
		return o.start
	}
	p := strictyaml.Pos{File: o.start.File, Line: o.line + line - 1, Col: o.col + col}
	if line > 1 {
		p.Col = o.indent + col + 1
	}
	return p
}
