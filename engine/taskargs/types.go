package taskargs

import (
	"encoding"
	"reflect"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// argType is the way in which the type of an argument uses a rendered text.
type argType int

// The uses of a rendered text.
const (
	wantText  argType = iota // a string
	wantAny                  // the value of the expression, whatever its type
	wantOther                // the rendered text is parsed as YAML
)

func argTypeOf(t reflect.Type) argType {
	t = deref(t)
	switch {
	case t == nil || t.Kind() == reflect.Interface || t == reflect.TypeFor[yaml.Node]():
		return wantAny
	case t == reflect.TypeFor[time.Duration]():
		return wantText
	case reflect.PointerTo(t).Implements(reflect.TypeFor[yaml.Unmarshaler]()):
		return wantAny
	case t.Kind() == reflect.String, reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()):
		return wantText
	}
	return wantOther
}

// childType returns the type that the i-th child of a node is decoded into; nil for any.
func childType(t reflect.Type, n *yaml.Node, i int) reflect.Type {
	t = deref(t)
	if t == nil || argTypeOf(t) == wantAny {
		return nil
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Array, reflect.Map:
		return t.Elem()
	case reflect.Struct:
		return fieldType(t, n.Content[i-1].Value)
	}
	return nil
}

// fieldRule returns the rule of the argument called key; empty when it has none.
func fieldRule(t reflect.Type, key string) string {
	if t = deref(t); t == nil || t.Kind() != reflect.Struct {
		return ""
	}
	f, _ := findField(t, key)
	if f == nil {
		return ""
	}
	return f.Tag.Get("rule")
}

// HasField reports whether arguments of type t have the key.
func HasField(t reflect.Type, key string) bool { return fieldType(deref(t), key) != nil }

func fieldType(t reflect.Type, key string) reflect.Type {
	f, rest := findField(t, key)
	if f != nil {
		return f.Type
	}
	return rest
}

// findField returns the field of a struct for a key, also in an inline struct; without one
// the type of the values of an inline map.
func findField(t reflect.Type, key string) (*reflect.StructField, reflect.Type) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if strings.Contains(options, "inline") || f.Anonymous && name == "" {
			inner := deref(f.Type)
			if inner.Kind() == reflect.Map {
				return nil, inner.Elem()
			}
			if inner.Kind() == reflect.Struct {
				if found, rest := findField(inner, key); found != nil || rest != nil {
					return found, rest
				}
			}
			continue
		}
		if name == "" {
			name = strings.ToLower(f.Name)
		}
		if name == key {
			return &f, nil
		}
	}
	return nil, nil
}

func deref(t reflect.Type) reflect.Type {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}
