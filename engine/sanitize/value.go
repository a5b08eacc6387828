package sanitize

// Value returns a decoded JSON value with all its texts sanitized, keys included. It
// changes lists in place and copies mappings.
func Value(v any) any {
	switch v := v.(type) {
	case string:
		return Text(v)
	case []any:
		for i := range v {
			v[i] = Value(v[i])
		}
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, e := range v {
			out[Text(key)] = Value(e)
		}
		return out
	}
	return v
}
