package playbook

import (
	"reflect"
	"strings"

	"gopkg.in/yaml.v3"
)

// spelledOut turns the short form of a task's arguments into the long one: a
// text or a list instead of a mapping is the argument that its kind marks with
// short:"true", as in `command: uptime -p`.
func spelledOut(args *yaml.Node, t reflect.Type) *yaml.Node {
	isNull := args.Kind == yaml.ScalarNode && args.ShortTag() == "!!null"
	if args.Kind == yaml.MappingNode || isNull {
		return args
	}
	name := shortField(t)
	if name == "" {
		return args // decoding says what is wrong
	}
	key := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: name, Line: args.Line, Column: args.Column}
	return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Content: []*yaml.Node{key, args}, Line: args.Line, Column: args.Column}
}

// shortField is the name of the argument with the tag, empty when there is none.
func shortField(t reflect.Type) string {
	t = deref(t)
	if t.Kind() != reflect.Struct {
		return ""
	}
	for i := range t.NumField() {
		f := t.Field(i)
		if name, _, _ := strings.Cut(f.Tag.Get("yaml"), ","); f.Tag.Get("short") == "true" {
			return name
		}
		if f.Anonymous {
			if name := shortField(f.Type); name != "" {
				return name
			}
		}
	}
	return ""
}
