package jsontypes

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
)

// Normalize converts a value that a decoder of JSON or YAML has made into the types that
// variables have: map[string]any, []any, and int for whole numbers, which templates would
// else print as 1e+06. Normalize copies maps and lists in which something changes, and leaves
// v as it is.
func Normalize(v any) any {
	switch t := v.(type) {
	case float64:
		if t == math.Trunc(t) && math.Abs(t) < 1<<53 {
			return int(t)
		}
	case json.Number:
		if i, err := t.Int64(); err == nil {
			return int(i)
		}
		f, _ := t.Float64()
		return f
	case map[any]any:
		out := make(map[string]any, len(t))
		for k, e := range t {
			out[fmt.Sprint(k)] = Normalize(e)
		}
		return out
	case map[string]any:
		return normalizeMap(t)
	case []any:
		return normalizeList(t)
	}
	return v
}

func normalizeMap(m map[string]any) map[string]any {
	out, copied := m, false
	for k, e := range m {
		n := Normalize(e)
		if same(e, n) {
			continue
		}
		if !copied {
			out, copied = maps.Clone(m), true
		}
		out[k] = n
	}
	return out
}

func normalizeList(l []any) []any {
	out, copied := l, false
	for i, e := range l {
		n := Normalize(e)
		if same(e, n) {
			continue
		}
		if !copied {
			out, copied = append([]any(nil), l...), true
		}
		out[i] = n
	}
	return out
}

// same reports whether Normalize returned its argument.
func same(a, b any) bool {
	switch t := a.(type) {
	case map[string]any:
		u, ok := b.(map[string]any)
		return ok && len(t) == len(u) && identical(t, u)
	case []any:
		u, ok := b.([]any)
		return ok && len(t) == len(u) && (len(t) == 0 || &t[0] == &u[0])
	case map[any]any, json.Number:
		return false
	case float64:
		_, still := b.(float64)
		return still
	}
	return true
}

func identical(a, b map[string]any) bool {
	return reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer()
}
