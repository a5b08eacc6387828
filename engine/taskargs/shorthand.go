package taskargs

import (
	"reflect"

	"gopkg.in/yaml.v3"

	"deployer/engine/lang"
)

// LongForm returns the long form of a task's arguments: a text or a list in the place of a
// mapping is the argument with the tag short:"true", as in `command: uptime -p`. Where that
// argument is a mapping itself, keys that are not arguments are its keys, as in `set:
// {port: 80}`.
func LongForm(args *yaml.Node, t reflect.Type) *yaml.Node {
	isNull := args.Kind == yaml.ScalarNode && args.ShortTag() == "!!null"
	name := shortField(t)
	if isNull || name == "" {
		return args // decoding reports the error
	}
	if args.Kind == yaml.MappingNode {
		if !isMapping(fieldType(deref(t), name)) || lang.MappingValue(args, name) != args {
			return args
		}
		return nestUnknownKeys(args, deref(t), name)
	}
	key := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: name, Line: args.Line, Column: args.Column}
	return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Content: []*yaml.Node{key, args}, Line: args.Line, Column: args.Column}
}

// nestUnknownKeys moves the keys of a mapping that are not arguments below the argument
// called name.
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
