package jsontypes

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

var (
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
	jsonMarshaler = reflect.TypeFor[json.Marshaler]()
)

// FromGo converts a Go value to the types of variables: structs to mappings under their
// JSON names, lists to []any, whole numbers to int. The result equals that of encoding
// to JSON and decoding again, without the text in between; it shares nothing with v. A
// value that implements json.Marshaler, and a list of bytes, do go through JSON. The
// error is that of a type that JSON cannot express, such as a function.
func FromGo(v any) (any, error) { return fromGo(reflect.ValueOf(v)) }

func fromGo(v reflect.Value) (any, error) {
	if !v.IsValid() {
		return nil, nil
	}
	kind := v.Kind()
	if (kind == reflect.Pointer || kind == reflect.Interface || kind == reflect.Map) && v.IsNil() {
		return nil, nil
	}
	switch t := v.Type(); {
	case t.Implements(jsonMarshaler):
		return throughJSON(v)
	case t.Implements(textMarshaler):
		text, err := v.Interface().(encoding.TextMarshaler).MarshalText()
		return string(text), err
	}
	switch kind {
	case reflect.Pointer, reflect.Interface:
		return fromGo(v.Elem())
	case reflect.Bool:
		return v.Bool(), nil
	case reflect.String:
		return v.String(), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return int(v.Int()), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return Normalize(float64(v.Uint())), nil
	case reflect.Float32, reflect.Float64:
		return Normalize(v.Float()), nil
	case reflect.Struct:
		out := map[string]any{}
		return out, fieldsFromGo(v, out)
	case reflect.Map:
		return mapFromGo(v)
	case reflect.Slice, reflect.Array:
		return listFromGo(v)
	}
	return nil, fmt.Errorf("a value of type %s has no form in JSON", v.Type())
}

func throughJSON(v reflect.Value) (any, error) {
	raw, err := json.Marshal(v.Interface())
	if err != nil {
		return nil, err
	}
	var out any
	if err := json.Unmarshal(raw, &out); err != nil {
		return nil, err
	}
	return Normalize(out), nil
}

func mapFromGo(v reflect.Value) (any, error) {
	if v.Type().Key().Kind() != reflect.String {
		return throughJSON(v)
	}
	out := make(map[string]any, v.Len())
	for each := v.MapRange(); each.Next(); {
		value, err := fromGo(each.Value())
		if err != nil {
			return nil, err
		}
		out[each.Key().String()] = value
	}
	return out, nil
}

func listFromGo(v reflect.Value) (any, error) {
	if v.Kind() == reflect.Slice && v.IsNil() {
		return nil, nil
	}
	if v.Type().Elem().Kind() == reflect.Uint8 {
		return throughJSON(v) // base64
	}
	out := make([]any, v.Len())
	for i := range out {
		value, err := fromGo(v.Index(i))
		if err != nil {
			return nil, err
		}
		out[i] = value
	}
	return out, nil
}

// fieldsFromGo adds the fields of a struct to out, those of embedded structs at the same
// level.
func fieldsFromGo(v reflect.Value, out map[string]any) error {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		tag := field.Tag.Get("json")
		name, options, _ := strings.Cut(tag, ",")
		switch {
		case tag == "-", !field.IsExported() && !field.Anonymous:
			continue
		case field.Anonymous && name == "" && field.Type.Kind() == reflect.Struct:
			if err := fieldsFromGo(v.Field(i), out); err != nil {
				return err
			}
			continue
		case strings.Contains(options, "omitempty") && isEmpty(v.Field(i)), strings.Contains(options, "omitzero") && v.Field(i).IsZero():
			continue
		}
		value, err := fromGo(v.Field(i))
		if err != nil {
			return fmt.Errorf("%s: %w", field.Name, err)
		}
		if name == "" {
			name = field.Name
		}
		out[name] = value
	}
	return nil
}

// isEmpty reports whether omitempty omits a value: unlike a zero struct, an empty list
// that is not nil is empty.
func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map, reflect.Array, reflect.String:
		return v.Len() == 0
	case reflect.Struct:
		return false
	}
	return v.IsZero()
}
