package componentconfig

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1"

	"deployer/strictyaml"
)

// walk compares a value of an inventory with the type that it is to be decoded
// into, and reports every key and value that does not fit, by its path. Field names
// are those of the json tags, as Kubernetes' strict decoder takes them.
func (k *checker) walk(value any, t reflect.Type, path []string) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if value == nil {
		return
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		k.unmarshaled(value, t, path)
		return
	}
	switch t.Kind() {
	case reflect.Struct:
		k.fields(value, t, path)
	case reflect.Map:
		m, ok := value.(map[string]any)
		if !ok {
			k.kind(value, "a mapping", path)
			return
		}
		for _, key := range slices.Sorted(maps.Keys(m)) {
			k.walk(m[key], t.Elem(), childPath(path, key))
		}
	case reflect.Interface: // anything
	case reflect.Slice:
		list, ok := value.([]any)
		if !ok {
			k.kind(value, "a list", path)
			return
		}
		for i, v := range list {
			k.walk(v, t.Elem(), childPath(path, fmt.Sprintf("[%d]", i)))
		}
	default:
		k.scalar(value, t, path)
	}
}

func childPath(path []string, key string) []string { return append(slices.Clone(path), key) }

func (k *checker) fields(value any, t reflect.Type, path []string) {
	m, ok := value.(map[string]any)
	if !ok {
		k.kind(value, "a mapping", path)
		return
	}
	known := fieldsOf(t)
	for _, key := range slices.Sorted(maps.Keys(m)) {
		field, ok := known[key]
		if !ok {
			k.add(childPath(path, key), "there is no such setting%s", strictyaml.DidYouMean(key, slices.Collect(maps.Keys(known))))
			continue
		}
		k.walk(m[key], field, childPath(path, key))
	}
}

// fieldsOf maps the names of a struct's fields to their types, those of embedded
// structs included.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	out := map[string]reflect.Type{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-":
		case name != "":
			out[name] = f.Type
		case f.Anonymous && f.Type.Kind() == reflect.Struct:
			maps.Copy(out, fieldsOf(f.Type))
		}
	}
	return out
}

// unmarshaled checks a value of a type that reads its JSON itself: a duration, a quantity.
func (k *checker) unmarshaled(value any, t reflect.Type, path []string) {
	raw, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(raw, reflect.New(t).Interface())
	}
	switch {
	case err == nil:
	case t == reflect.TypeFor[v1.Duration]():
		k.add(path, "%s is not a duration: write a number with its unit, such as 30s or 5m", shown(value))
	case t == reflect.TypeFor[resource.Quantity]():
		k.add(path, "%s is not a quantity such as 500m or 2Gi", shown(value))
	default:
		k.add(path, "%s: %v", shown(value), err)
	}
}

// scalar checks a text, a truth value or a number.
func (k *checker) scalar(value any, t reflect.Type, path []string) {
	wants := map[reflect.Kind]string{reflect.String: "text", reflect.Bool: "true or false", reflect.Float32: "a number", reflect.Float64: "a number"}[t.Kind()]
	if wants == "" {
		wants = "a whole number"
	}
	raw, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(raw, reflect.New(t).Interface())
	}
	if err != nil {
		if _, text := value.(string); !text && wants == "text" {
			wants = "text (write it in quotes)"
		}
		k.kind(value, wants, path)
	}
}

func (k *checker) kind(value any, wants string, path []string) {
	k.add(path, "%s is not %s", shown(value), wants)
}

// maxShown bounds in bytes the value in a message.
const maxShown = 80

// shown returns a value as messages show it.
func shown(value any) string {
	if d, ok := value.(time.Duration); ok {
		return d.String()
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	if text := string(raw); len(text) <= maxShown {
		return text
	}
	return strings.ToValidUTF8(string(raw[:maxShown]), "") + "..."
}
