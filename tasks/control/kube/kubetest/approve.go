package kubetest

import (
	"net/http"
	"strings"
)

// approve serves the subresource approval of CertificateSigningRequests: only the conditions of the object in the
// request are taken.
func (a *API) approve(w http.ResponseWriter, r *http.Request) {
	path, found := strings.CutSuffix(r.URL.Path, "/approval")
	live := a.objects[path]
	if live == nil || !found {
		notFound(w, path)
		return
	}
	given := read(r)
	if nestedField(given, "metadata", "resourceVersion") != nestedField(live, "metadata", "resourceVersion") {
		fail(w, http.StatusConflict, "Conflict", "", path)
		return
	}
	next := clone(live)
	status, _ := next["status"].(map[string]any)
	if status == nil {
		status = map[string]any{}
		next["status"] = status
	}
	status["conditions"] = nestedField(given, "status", "conditions")
	a.writes = append(a.writes, "APPROVE "+path)
	reply(w, http.StatusOK, a.store(path, next))
}
