package taskargs

import (
	"reflect"
	"strings"
)

// templateArgument returns the path to the argument that names a template file of the role:
// the argument with the tag template:"true", also in an argument that is a mapping; nil
// when the kind of task has none.
func templateArgument(t reflect.Type) []string {
	t = deref(t)
	if name := taggedField(t, "template"); name != "" {
		return []string{name}
	}
	for i := 0; t.Kind() == reflect.Struct && i < t.NumField(); i++ {
		f := t.Field(i)
		if inner := taggedField(f.Type, "template"); inner != "" {
			name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
			return []string{name, inner}
		}
	}
	return nil
}

// DefinedField returns the argument whose keys become variables; empty when the kind of
// task has none.
func DefinedField(t reflect.Type) string { return taggedField(t, "defines") }

func isMapping(t reflect.Type) bool { return t != nil && deref(t).Kind() == reflect.Map }

// shortField returns the argument with the tag short:"true"; empty when there is none.
func shortField(t reflect.Type) string { return taggedField(t, "short") }

// taggedField returns the argument whose tag has the value true, also in an embedded
// struct; empty when there is none.
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
