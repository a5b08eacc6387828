package kubetest

import (
	"net/http"
	"strings"
)

// evict serves the subresource eviction of pods: it removes the pod unless a
// PodDisruptionBudget that selects the pod allows no disruption. Each eviction
// decrements disruptionsAllowed of the budget; only tests increment it.
func (a *API) evict(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimSuffix(r.URL.Path, "/eviction")
	pod := a.objects[path]
	if pod == nil {
		notFound(w, path)
		return
	}
	namespace, _, _ := strings.Cut(strings.TrimPrefix(path, "/api/v1/namespaces/"), "/")
	for at, budget := range a.objects {
		if !strings.HasPrefix(at, "/apis/policy/v1/namespaces/"+namespace+"/poddisruptionbudgets/") || !selects(budget, pod) {
			continue
		}
		status, _ := budget["status"].(map[string]any)
		allowed, _ := status["disruptionsAllowed"].(float64)
		if allowed < 1 {
			reply(w, http.StatusTooManyRequests, map[string]any{
				"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": http.StatusTooManyRequests, "reason": "TooManyRequests",
				"message": "Cannot evict pod as it would violate the pod's disruption budget.",
				"details": map[string]any{"causes": []any{map[string]any{"reason": "DisruptionBudget"}}},
			})
			return
		}
		status["disruptionsAllowed"] = allowed - 1
	}
	a.writes = append(a.writes, "EVICT "+path)
	a.version++
	a.record("DELETED", path, pod)
	delete(a.objects, path)
	reply(w, http.StatusCreated, map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Success"})
}

// selects compares the match labels of a budget with those of a pod.
func selects(budget, pod map[string]any) bool {
	labels, _ := nestedField(pod, "metadata", "labels").(map[string]any)
	want, _ := nestedField(budget, "spec", "selector", "matchLabels").(map[string]any)
	for key, value := range want {
		if labels[key] != value {
			return false
		}
	}
	return true
}

func nestedField(v any, path ...string) any {
	for _, key := range path {
		m, _ := v.(map[string]any)
		v = m[key]
	}
	return v
}

// hasFields reports whether an object has the fields of a field selector.
func hasFields(object map[string]any, selector string) bool {
	for term := range strings.SplitSeq(selector, ",") {
		field, value, ok := strings.Cut(term, "=")
		if ok && nestedField(object, strings.Split(field, ".")...) != value {
			return false
		}
	}
	return true
}
