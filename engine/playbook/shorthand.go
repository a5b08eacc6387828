package playbook

import (
	"reflect"
	"strings"

	"gopkg.in/yaml.v3"
)

// longForm turns the short form of a task's arguments into the long one: a
// text or a list instead of a mapping is the argument that its kind marks with
// short:"true", as in `command: uptime -p`. Where that argument is a mapping
// itself, keys that are no arguments are its keys, as in `set: {port: 80}`.
func longForm(args *yaml.Node, t reflect.Type) *yaml.Node {
	isNull := args.Kind == yaml.ScalarNode && args.ShortTag() == "!!null"
	name := shortField(t)
	if isNull || name == "" {
		return args // decoding says what is wrong
	}
	if args.Kind == yaml.MappingNode {
		if !isMapping(fieldType(deref(t), name)) || valueOf(args, name) != args {
			return args
		}
		return nestUnknownKeys(args, deref(t), name)
	}
	key := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: name, Line: args.Line, Column: args.Column}
	return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Content: []*yaml.Node{key, args}, Line: args.Line, Column: args.Column}
}

// nestUnknownKeys puts the keys of a mapping that are no arguments below the one called
// name.
func nestUnknownKeys(args *yaml.Node, t reflect.Type, name string) *yaml.Node {
	below := *args
	below.Content = nil
	out := *args
	out.Content = nil
	for i := 0; i+1 < len(args.Content); i += 2 {
		into := &below
		if fieldType(t, args.Content[i].Value) != nil {
			into = &out
		}
		into.Content = append(into.Content, args.Content[i], args.Content[i+1])
	}
	if len(below.Content) == 0 {
		return args
	}
	key := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: name, Line: args.Line, Column: args.Column}
	out.Content = append(out.Content, key, &below)
	return &out
}

func isMapping(t reflect.Type) bool { return t != nil && deref(t).Kind() == reflect.Map }

// shortField is the name of the argument with the tag, empty when there is none.
func shortField(t reflect.Type) string { return taggedField(t, "short") }

// taggedField is the name of the argument that has the tag with the value true, also
// in an embedded struct; empty when there is none.
func taggedField(t reflect.Type, tag string) string {
	t = deref(t)
	if t.Kind() != reflect.Struct {
		return ""
	}
	for i := range t.NumField() {
		f := t.Field(i)
		if name, _, _ := strings.Cut(f.Tag.Get("yaml"), ","); f.Tag.Get(tag) == "true" {
			return name
		}
		if f.Anonymous {
			if name := taggedField(f.Type, tag); name != "" {
				return name
			}
		}
	}
	return ""
}
