package taskargs

import (
	"reflect"

	"gopkg.in/yaml.v3"

	"deployer/engine/lang"
	"deployer/strictyaml"
)

// TemplateFile is the argument of a task that names a template file.
type TemplateFile struct {
	Pos  strictyaml.Pos
	Name string // the name as written, when Text is nil
	Text *lang.Interpolation
}

// TemplateFile returns the argument with the tag template:"true" of a kind of task with
// arguments of type t; nil when the kind has none, when it was left out, or when it is
// not a text.
func (a *Args) TemplateFile(t reflect.Type) *TemplateFile {
	n := a.root.at(templateArgument(t))
	if n == nil || n.node.Kind != yaml.ScalarNode {
		return nil
	}
	return &TemplateFile{Pos: a.doc.At(n.node), Name: n.node.Value, Text: n.text}
}
