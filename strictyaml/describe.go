package strictyaml

import (
	"reflect"
	"strings"

	"deployer/argrule"
)

// Key is one key of a document type, as a reference shows it.
type Key struct {
	Path     string   `json:"path"` // "hosts.NAME.ssh.port"; lists end in []
	Type     string   `json:"type"` // "text", "whole number", "list of text", ...
	Doc      string   `json:"doc,omitempty"`
	Default  string   `json:"default,omitempty"`
	Enum     []string `json:"enum,omitempty"`
	Values   string   `json:"values,omitempty"` // grammar of the text, or of each text of a list or mapping
	Keys     string   `json:"keys,omitempty"`   // grammar of the keys of a mapping
	Range    string   `json:"range,omitempty"`  // "from 1 to 9", "at least 1ms"; empty without limits and for what is only not negative
	Required bool     `json:"required,omitempty"`
	Depth    int      `json:"depth"` // 0 at the top
}

// Describe lists all keys that a document of v's type may have, in the order of
// the struct's fields, each followed by the keys below it. A list type that
// decodes itself shows the keys of its items with a method YAMLItem() any,
// which returns an item.
func Describe(v any) []Key {
	d := &describer{busy: map[reflect.Type]bool{}}
	d.inside(reflect.TypeOf(v), "", 0)
	return d.keys
}

type describer struct {
	keys []Key
	busy map[reflect.Type]bool
}

// inside lists the keys below a value of type t at path.
func (d *describer) inside(t reflect.Type, path string, depth int) {
	t, suffix := container(t)
	if t.Kind() != reflect.Struct || kindOf(t) != kindPlain || d.busy[t] {
		return
	}
	d.busy[t] = true
	defer delete(d.busy, t)
	s := shapeOf(t)
	if path += suffix; path != "" {
		path += "."
	}
	for _, f := range s.fields {
		if s.byName[f.name].typ != f.typ {
			continue
		}
		d.keys = append(d.keys, Key{Path: path + f.name, Type: typeName(f.typ), Doc: f.doc, Default: f.def,
			Enum: f.enum, Required: f.required, Depth: depth}.withRules(f))
		d.inside(f.typ, path+f.name, depth+1)
	}
}

// withRules adds what the rules and limits of a field permit.
func (k Key) withRules(f field) Key {
	if k.Enum == nil {
		k.Enum = argrule.Choices(f.rule)
	}
	k.Values, k.Keys = argrule.Want(f.rule), argrule.Want(f.keyRule)
	if f.limits != nil {
		k.Range = f.limits.words()
	}
	return k
}

// container returns the type of the values in nested lists and mappings; suffix is the
// part of a path for them.
func container(t reflect.Type) (inner reflect.Type, suffix string) {
	for {
		t = indirect(t)
		zero := reflect.New(t).Interface()
		k := kindOf(t)
		switch {
		case k == kindUnmarshal:
			item, ok := zero.(interface{ YAMLItem() any })
			if !ok {
				return t, suffix
			}
			t, suffix = reflect.TypeOf(item.YAMLItem()), suffix+"[]"
		case k == kindSection:
			t = zero.(section).innerType()
		case k == kindOrdered:
			t, suffix = zero.(ordered).valueType(), suffix+".NAME"
		case k == kindPlain && t.Kind() == reflect.Map:
			t, suffix = t.Elem(), suffix+".NAME"
		case t.Kind() == reflect.Slice && indirect(t.Elem()).Kind() == reflect.Struct:
			t, suffix = t.Elem(), suffix+"[]"
		default:
			return t, suffix
		}
	}
}

func typeName(t reflect.Type) string {
	t = indirect(t)
	zero := reflect.New(t).Interface()
	switch kindOf(t) {
	case kindSection:
		return typeName(zero.(section).innerType())
	case kindOrdered:
		return "mapping of " + typeName(zero.(ordered).valueType())
	case kindDuration:
		return "duration"
	case kindNode:
		return "any"
	case kindText:
		return "text"
	case kindUnmarshal:
		if s, ok := zero.(Schemaed); ok {
			return schemaName(s.YAMLSchema())
		}
		return "any"
	}
	switch t.Kind() {
	case reflect.Struct:
		return "mapping"
	case reflect.Interface:
		return "any"
	case reflect.Map:
		return "mapping of " + typeName(t.Elem())
	case reflect.Slice:
		return "list of " + typeName(t.Elem())
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "text"
	case reflect.Float32, reflect.Float64:
		return "number"
	default:
		return "whole number"
	}
}

// schemaName puts the types of a schema into words.
func schemaName(s map[string]any) string {
	words := map[string]string{"string": "text", "integer": "whole number", "number": "number",
		"boolean": "true or false", "object": "mapping", "array": "list"}
	switch t := s["type"].(type) {
	case string:
		return words[t]
	case []any:
		var out []string
		for _, x := range t {
			if w := words[x.(string)]; w != "" {
				out = append(out, w)
			}
		}
		return strings.Join(out, " or ")
	}
	for _, of := range []string{"oneOf", "anyOf"} {
		var out []string
		choices, _ := s[of].([]any)
		for _, c := range choices {
			if m, ok := c.(map[string]any); ok {
				out = append(out, schemaName(m))
			}
		}
		if out != nil {
			return strings.Join(out, " or ")
		}
	}
	return "any"
}
