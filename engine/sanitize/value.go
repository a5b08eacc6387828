package sanitize

// Value returns a decoded JSON value with all its texts sanitized, keys included. It
// changes lists in place and copies mappings.
func Value(v any) any { return value(v, Text, Text, nil) }

// Lines is Value for data that is shown in rows, such as the record of a run: every text
// becomes one line (see Line), except below the members that multiline selects by their keys.
// So a name or a number of a hostile host cannot make a row of its own.
func Lines(v any, multiline func(key string) bool) any { return value(v, Line, Line, multiline) }

// value sanitizes texts and keys; below the members that except selects, texts keep line ends.
func value(v any, text, key func(string) string, except func(string) bool) any {
	switch v := v.(type) {
	case string:
		return text(v)
	case []any:
		for i := range v {
			v[i] = value(v[i], text, key, except)
		}
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, e := range v {
			if except != nil && except(name) {
				out[key(name)] = value(e, Text, key, nil)
				continue
			}
			out[key(name)] = value(e, text, key, except)
		}
		return out
	}
	return v
}
