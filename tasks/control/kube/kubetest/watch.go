package kubetest

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
)

// change is what happened to an object.
type change struct {
	version int
	kind    string // ADDED, MODIFIED or DELETED
	path    string
	object  map[string]any
}

// record keeps a change for watches.
func (a *API) record(kind, path string, object map[string]any) {
	a.changes = append(a.changes, change{a.version, kind, path, clone(object)})
	if a.changed != nil {
		close(a.changed)
	}
	a.changed = make(chan struct{})
}

// since returns the changes behind a version, and a channel that is closed with the next one.
func (a *API) since(version int) ([]change, <-chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.changed == nil {
		a.changed = make(chan struct{})
	}
	var out []change
	for _, c := range a.changes {
		if c.version > version {
			out = append(out, c)
		}
	}
	return out, a.changed
}

// watch sends the changes of a collection behind the version that the request names, until its client leaves.
func (a *API) watch(w http.ResponseWriter, r *http.Request) {
	version, _ := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
	w.Header().Set("Content-Type", "application/json")
	answer := http.NewResponseController(w)
	for {
		changes, next := a.since(version)
		for _, c := range changes {
			version = c.version
			if name, ok := strings.CutPrefix(c.path, r.URL.Path+"/"); ok && !strings.Contains(name, "/") {
				_ = json.NewEncoder(w).Encode(map[string]any{"type": c.kind, "object": c.object})
			}
		}
		if answer.Flush() != nil {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-next:
		}
	}
}
