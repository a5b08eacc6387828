package kubetest

import (
	"encoding/json"
	"net/http"
	"strings"
)

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

func notFound(w http.ResponseWriter, path string) {
	fail(w, http.StatusNotFound, "NotFound", "", path)
}

func fail(w http.ResponseWriter, status int, reason, kind, name string) {
	reply(w, status, map[string]any{
		"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": status, "reason": reason,
		"message": kind + ` "` + name + `" ` + reason,
		"details": map[string]any{"name": name, "kind": kind},
	})
}

// isCollection reports whether a path is that of a list, not of an object.
func isCollection(path string) bool {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	skip := 2 // api, v1
	if parts[0] == "apis" {
		skip = 3
	}
	return len(parts) > skip && (len(parts)-skip)%2 == 1
}

func matches(object map[string]any, selector string) bool {
	meta, _ := object["metadata"].(map[string]any)
	labels, _ := meta["labels"].(map[string]any)
	for term := range strings.SplitSeq(selector, ",") {
		if key, value, ok := strings.Cut(term, "!="); ok {
			if labels[key] == value {
				return false
			}
			continue
		}
		key, value, ok := strings.Cut(term, "=")
		if term != "" && (labels[key] == nil || ok && labels[key] != value) {
			return false
		}
	}
	return true
}

func clone(o map[string]any) map[string]any {
	if o == nil {
		return nil
	}
	data, _ := json.Marshal(o)
	var out map[string]any
	_ = json.Unmarshal(data, &out)
	return out
}

// merge applies a JSON merge patch (RFC 7396).
func merge(into, patch map[string]any) map[string]any {
	if into == nil {
		into = map[string]any{}
	}
	for key, value := range patch {
		switch v := value.(type) {
		case nil:
			delete(into, key)
		case map[string]any:
			inner, _ := into[key].(map[string]any)
			into[key] = merge(inner, v)
		default:
			into[key] = v
		}
	}
	return clone(into)
}

// setManagedFields records that the manager applied these fields, as managedFields do.
func setManagedFields(object map[string]any, manager string, patch map[string]any) {
	meta, _ := object["metadata"].(map[string]any)
	entries, _ := meta["managedFields"].([]any)
	var kept []any
	for _, e := range entries {
		if e.(map[string]any)["manager"] != manager {
			kept = append(kept, e)
		}
	}
	fields := clone(patch)
	if m, ok := fields["metadata"].(map[string]any); ok {
		delete(m, "name")
		delete(m, "namespace")
	}
	meta["managedFields"] = append(kept, map[string]any{"manager": manager, "operation": "Apply", "fieldsV1": fields})
}
