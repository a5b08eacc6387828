package addons

import (
	"encoding/json"
	"strings"
)

// refersToURL reports whether a JSON schema has a reference to another one by URL, or cannot be
// read.
func refersToURL(schema []byte) bool {
	var root any
	if err := json.Unmarshal(schema, &root); err != nil {
		return true
	}
	return hasRemoteReference(root)
}

func hasRemoteReference(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			text, ok := value.(string)
			if ok && (key == "$ref" || key == "$schema" || key == "$dynamicRef") && strings.Contains(text, "://") && !strings.Contains(text, "://json-schema.org/draft") {
				return true
			}
			if hasRemoteReference(value) {
				return true
			}
		}
	case []any:
		for _, item := range v {
			if hasRemoteReference(item) {
				return true
			}
		}
	}
	return false
}
