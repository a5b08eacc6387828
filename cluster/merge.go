package cluster

import (
	"maps"
	"slices"
)

// merge lays over upon base: maps merge key by key, everything else is
// replaced, and a null removes the key. Neither input is changed.
func merge(base, over map[string]any) map[string]any {
	out := cloneMap(base)
	for _, k := range slices.Sorted(maps.Keys(over)) {
		v := over[k]
		if v == nil {
			delete(out, k)
			continue
		}
		upper, isMap := v.(map[string]any)
		if !isMap {
			out[k] = cloneValue(v)
			continue
		}
		lower, _ := out[k].(map[string]any)
		out[k] = merge(lower, upper)
	}
	return out
}

// mergeLayers merges like [merge], but keeps nulls: the result is a layer itself and
// must be able to remove keys.
func mergeLayers(base, over map[string]any) map[string]any {
	out := cloneMap(base)
	for _, k := range slices.Sorted(maps.Keys(over)) {
		lower, lowerMap := out[k].(map[string]any)
		upper, upperMap := over[k].(map[string]any)
		if lowerMap && upperMap {
			out[k] = mergeLayers(lower, upper)
			continue
		}
		out[k] = cloneValue(over[k])
	}
	return out
}

func cloneMap(m map[string]any) map[string]any {
	out := make(map[string]any, len(m))
	for k, v := range m {
		out[k] = cloneValue(v)
	}
	return out
}

func cloneValue(v any) any {
	switch v := v.(type) {
	case map[string]any:
		return cloneMap(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = cloneValue(v[i])
		}
		return out
	default:
		return v
	}
}

// withoutKeys returns a copy of m without some keys.
func withoutKeys(m map[string]any, keys ...string) map[string]any {
	out := cloneMap(m)
	for _, k := range keys {
		delete(out, k)
	}
	return out
}

// textList returns texts as a list of configuration values.
func textList(texts []string) []any {
	out := []any{}
	for _, t := range texts {
		out = append(out, t)
	}
	return out
}

// section returns the map under key, empty when there is none.
func section(m map[string]any, key string) map[string]any {
	s, _ := m[key].(map[string]any)
	return s
}
