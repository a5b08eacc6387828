package lang

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"gopkg.in/yaml.v3"
)

func toYAML(v any) (string, error) {
	var b strings.Builder
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(v); err != nil {
		return "", err
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// toTOML returns a mapping as a TOML document with sorted keys.
func toTOML(v any) (string, error) {
	m, ok := v.(map[string]any)
	if !ok {
		return "", fmt.Errorf("toToml wants a mapping, got %s", Describe(v))
	}
	out, err := toml.Marshal(m)
	if err != nil {
		return "", err
	}
	return strings.TrimSuffix(string(out), "\n"), nil
}

func fromYAML(s string) (any, error) {
	var v any
	if err := yaml.Unmarshal([]byte(s), &v); err != nil {
		return nil, err
	}
	return Normalize(v), nil
}

func fromJSON(s string) (any, error) {
	var v any
	if err := json.Unmarshal([]byte(s), &v); err != nil {
		return nil, err
	}
	return Normalize(v), nil
}

// toJSON is sprig's mustToJson without escapes of <, > and &: the result goes into
// configuration files, not into web pages.
func toJSON(v any) (string, error) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "", err
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// Normalize converts a value that a decoder of JSON or YAML has made into the types that
// variables have: map[string]any, []any, and int for whole numbers, which templates would
// else print as 1e+06. It copies maps and lists in which something changes and leaves v as
// it is.
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
