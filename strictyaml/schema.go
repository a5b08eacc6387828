package strictyaml

import (
	"reflect"
	"time"

	"gopkg.in/yaml.v3"
)

// Schemaed is a type that decodes itself and provides its JSON Schema.
type Schemaed interface{ YAMLSchema() map[string]any }

// Schema returns the JSON Schema (draft 2020-12) of the values that Decode accepts
// for v's type. Schema has no $schema key, so that it can be part of another schema. A
// type that decodes itself and is not Schemaed accepts anything.
func Schema(v any) map[string]any {
	return schemaOf(reflect.TypeOf(v), map[reflect.Type]bool{})
}

func schemaOf(t reflect.Type, busy map[reflect.Type]bool) map[string]any {
	t = indirect(t)
	zero := reflect.New(t).Interface()
	if s, ok := zero.(Schemaed); ok {
		return s.YAMLSchema()
	}
	switch kindOf(t) {
	case kindNode, kindUnmarshal:
		return map[string]any{}
	case kindDuration:
		return map[string]any{"type": "string", "pattern": `^[-+]?(0|([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|ms|s|m|h))+$`}
	case kindText:
		return map[string]any{"type": "string"}
	case kindOrdered:
		return mapSchema(zero.(ordered).valueType(), busy)
	case kindSection:
		return schemaOf(zero.(section).innerType(), busy)
	}
	return plainSchema(t, busy)
}

func plainSchema(t reflect.Type, busy map[reflect.Type]bool) map[string]any {
	switch t.Kind() {
	case reflect.Struct:
		if busy[t] {
			return map[string]any{} // a type inside itself is not described again
		}
		busy[t] = true
		defer delete(busy, t)
		return structSchema(t, busy)
	case reflect.Map:
		return mapSchema(t.Elem(), busy)
	case reflect.Slice:
		return map[string]any{"type": "array", "items": schemaOf(t.Elem(), busy)}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return map[string]any{"type": "integer"}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return map[string]any{"type": "integer", "minimum": 0}
	case reflect.Float32, reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.String:
		return map[string]any{"type": []any{"string", "number", "boolean"}} // as Decode takes text
	}
	return map[string]any{}
}

func mapSchema(value reflect.Type, busy map[reflect.Type]bool) map[string]any {
	return map[string]any{"type": "object", "additionalProperties": nullable(schemaOf(value, busy))}
}

func structSchema(t reflect.Type, busy map[reflect.Type]bool) map[string]any {
	s := shapeOf(t)
	properties, required := map[string]any{}, []any{}
	for _, f := range s.fields {
		if s.byName[f.name].typ != f.typ {
			continue // hidden by an outer field
		}
		properties[f.name] = fieldSchema(f, busy)
		if f.required {
			required = append(required, f.name)
		}
	}
	out := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if s.rest != nil {
		out["additionalProperties"] = nullable(schemaOf(s.rest.typ.Elem(), busy))
	}
	if len(required) > 0 {
		out["required"] = required
	}
	return out
}

func fieldSchema(f field, busy map[reflect.Type]bool) map[string]any {
	out := schemaOf(f.typ, busy)
	if len(f.enum) > 0 {
		values := make([]any, len(f.enum))
		for i, e := range f.enum {
			values[i] = e
		}
		out = map[string]any{"enum": values}
	}
	if !f.required {
		out = nullable(out)
	}
	if f.doc != "" {
		out["description"] = f.doc
	}
	if f.def != "" {
		out["default"] = defaultValue(f)
	}
	return out
}

// nullable also accepts null, as Decode does for keys that are not required.
func nullable(s map[string]any) map[string]any {
	null := map[string]any{"type": "null"}
	switch t := s["type"].(type) {
	case string:
		s["type"] = []any{t, "null"}
		return s
	case []any:
		s["type"] = append(t[:len(t):len(t)], "null")
		return s
	}
	if enum, ok := s["enum"].([]any); ok {
		s["enum"] = append(enum[:len(enum):len(enum)], nil)
		return s
	}
	if len(s) == 0 {
		return s
	}
	return map[string]any{"anyOf": []any{s, null}}
}

// defaultValue gives the default tag the type of its field.
func defaultValue(f field) any {
	t := indirect(f.typ)
	if t.Kind() != reflect.String && t != reflect.TypeFor[time.Duration]() {
		var v any
		if yaml.Unmarshal([]byte(f.def), &v) == nil {
			return v
		}
	}
	return f.def
}
