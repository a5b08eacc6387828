package codec

import (
	"encoding/json"
	"reflect"
	"strconv"
	"sync"

	"deployer/engine/jsonappend"
)

// Args is what a host is told of the arguments of a module: JSON of those fields
// that are not as in fresh, which is the module as its kind makes it. Most fields
// of most tasks are not given, and would cost both ends their time.
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

// field is one of a struct, with its name as JSON has it.
type field struct {
	index int
	text  string // "Name":
}

var fieldCache sync.Map // reflect.Type -> []field

// fieldsOf are the fields of a pointer to a struct; nil for one that says itself
// how it is written.
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
