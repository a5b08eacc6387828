package codec

import (
	"encoding/json"
	"reflect"
	"strconv"
	"sync"

	"deployer/engine/jsonappend"
)

// Args returns the JSON of a module's arguments for the host: only the fields that
// differ from fresh, the module as its kind makes it. Most tasks set few fields, and
// the others would cost both ends their time.
func Args(args, fresh any) (json.RawMessage, error) {
	v, f := reflect.ValueOf(args), reflect.ValueOf(fresh)
	plain := v.Type() == f.Type() && v.Kind() == reflect.Pointer && v.Elem().Kind() == reflect.Struct
	if !plain {
		return json.Marshal(args)
	}
	fields := fieldsOf(v.Type())
	if fields == nil {
		return json.Marshal(args)
	}
	v, f = v.Elem(), f.Elem()
	out := []byte{'{'}
	for _, name := range fields {
		given := v.Field(name.index)
		if given.IsZero() && f.Field(name.index).IsZero() {
			continue
		}
		var err error
		if out, err = appendValue(append(out, name.text...), given); err != nil {
			return nil, err
		}
		out = append(out, ',')
	}
	if len(out) > 1 {
		out = out[:len(out)-1]
	}
	return append(out, '}'), nil
}

func appendValue(out []byte, v reflect.Value) ([]byte, error) {
	if v.Type() == reflect.TypeFor[string]() {
		return jsonappend.AppendString(out, v.String()), nil
	}
	raw, err := json.Marshal(v.Interface())
	return append(out, raw...), err
}

// field is one field of a struct.
type field struct {
	index int
	text  string // the name as JSON has it, with the colon: "Name":
}

var fieldCache sync.Map // reflect.Type -> []field

// fieldsOf returns the fields of a pointer to a struct; nil for a type with JSON
// rules of its own. Results are cached.
func fieldsOf(t reflect.Type) []field {
	if fields, ok := fieldCache.Load(t); ok {
		return fields.([]field)
	}
	fields := findFields(t)
	fieldCache.Store(t, fields)
	return fields
}

func findFields(t reflect.Type) []field {
	if t.Implements(reflect.TypeFor[json.Marshaler]()) {
		return nil
	}
	out := []field{}
	for i := range t.Elem().NumField() {
		f := t.Elem().Field(i)
		if _, tagged := f.Tag.Lookup("json"); tagged || f.Anonymous {
			return nil
		}
		if f.IsExported() {
			out = append(out, field{i, strconv.Quote(f.Name) + ":"})
		}
	}
	return out
}
