package dialect

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
)

// Print returns a value as it appears in a text: numbers without an exponent, lists and
// mappings as JSON. Null is an error.
func Print(v any) (string, error) {
	switch t := v.(type) {
	case nil:
		return "", errors.New("the value is null; give it a default: NAME ?? DEFAULT")
	case string:
		return t, nil
	case []byte:
		return string(t), nil
	case bool:
		return strconv.FormatBool(t), nil
	case float64:
		return strconv.FormatFloat(t, 'f', -1, 64), nil
	case float32:
		return strconv.FormatFloat(float64(t), 'f', -1, 32), nil
	}
	if n, ok := toInt(v); ok {
		return strconv.Itoa(n), nil
	}
	return toJSON(v, "")
}

// toJSON does not escape <, > and &.
func toJSON(v any, indent string) (string, error) {
	if err := BoundValue(v, len(indent)); err != nil {
		return "", err
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	if err := enc.Encode(v); err != nil {
		return "", err
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// Truthy reports whether a value is true in Jinja: not empty, not 0, and not null.
func Truthy(v any) bool {
	switch t := v.(type) {
	case nil:
		return false
	case bool:
		return t
	case string:
		return t != ""
	}
	if f, ok := toFloat(v); ok {
		return f != 0
	}
	r := reflect.ValueOf(v)
	switch r.Kind() {
	case reflect.Slice, reflect.Map, reflect.Array:
		return r.Len() > 0
	}
	return true
}

func describe(v any) string {
	switch t := v.(type) {
	case nil:
		return "nothing"
	case string:
		return fmt.Sprintf("the text %q", t)
	case bool:
		return strconv.FormatBool(t)
	case map[string]any:
		return "a mapping"
	}
	if f, ok := toFloat(v); ok {
		return "the number " + strconv.FormatFloat(f, 'f', -1, 64)
	}
	if _, ok := list(v); ok {
		return "a list"
	}
	return fmt.Sprintf("a %T", v)
}

func toInt(v any) (int, bool) {
	r := reflect.ValueOf(v)
	switch {
	case !r.IsValid():
	case r.CanInt():
		return int(r.Int()), true
	case r.CanUint() && r.Uint() <= math.MaxInt64:
		return int(r.Uint()), true
	case r.CanFloat() && r.Float() == math.Trunc(r.Float()) && math.Abs(r.Float()) < 1<<53:
		return int(r.Float()), true
	}
	return 0, false
}

func toFloat(v any) (float64, bool) {
	r := reflect.ValueOf(v)
	switch {
	case !r.IsValid():
	case r.CanInt():
		return float64(r.Int()), true
	case r.CanUint():
		return float64(r.Uint()), true
	case r.CanFloat():
		return r.Float(), true
	}
	return 0, false
}

// list converts a list of any element type to []any.
func list(v any) ([]any, bool) {
	if l, ok := v.([]any); ok {
		return l, true
	}
	r := reflect.ValueOf(v)
	if !r.IsValid() || r.Kind() != reflect.Slice && r.Kind() != reflect.Array || r.Type().Elem().Kind() == reflect.Uint8 {
		return nil, false
	}
	out := make([]any, r.Len())
	for i := range out {
		out[i] = r.Index(i).Interface()
	}
	return out, true
}

// plain converts results of functions to the types of variables.
func plain(v any) any {
	switch v.(type) {
	case nil, string, bool, int, float64, map[string]any, []any:
		return v
	}
	if r := reflect.ValueOf(v); r.CanInt() || r.CanUint() {
		if n, ok := toInt(v); ok {
			return n
		}
	}
	if l, ok := list(v); ok {
		for i, e := range l {
			l[i] = plain(e)
		}
		return l
	}
	return v
}

// equal compares numbers by value: 1 equals 1.0.
func equal(a, b any) bool {
	if x, ok := toFloat(a); ok {
		y, ok := toFloat(b)
		return ok && x == y
	}
	if x, ok := list(a); ok {
		y, ok := list(b)
		if !ok || len(x) != len(y) {
			return false
		}
		for i := range x {
			if !equal(x[i], y[i]) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(a, b)
}
