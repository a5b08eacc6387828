// Package kubetest has a small Kubernetes API in memory for tests: objects by
// path, create, read, list, watch, merge patch, delete, eviction of pods, and server-side
// apply with dry run as far as one manager needs it.
package kubetest

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"sigs.k8s.io/yaml"
)

// API is the fake API server. Its zero value is ready to use; Start serves it.
type API struct {
	mu       sync.Mutex
	objects  map[string]map[string]any // by path
	version  int
	writes   []string // method and path of each request that changed something
	requests []string // method and path of every request
	changes  []change
	changed  chan struct{} // closed with the next change; nil before a first watch or change

	// Before, when set, may handle a request in place of the API; it returns true when it has.
	Before func(w http.ResponseWriter, r *http.Request) (handled bool)
	// Written, when set, is called for each stored object and may change it, as
	// controllers do.
	Written func(path string, object map[string]any)
}

// Start serves the API until the test ends.
func (a *API) Start(cleanup func(func())) *httptest.Server {
	s := httptest.NewUnstartedServer(a)
	s.EnableHTTP2 = true
	s.StartTLS()
	cleanup(s.Close)
	return s
}

// Put stores an object under its path, as in /api/v1/nodes/n1.
func (a *API) Put(path string, object map[string]any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.store(path, object)
}

// Object returns a copy of the object that is stored under a path; nil when there is none.
func (a *API) Object(path string) map[string]any {
	a.mu.Lock()
	defer a.mu.Unlock()
	return clone(a.objects[path])
}

// Writes returns the requests that changed something: "PATCH /api/...".
func (a *API) Writes() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.writes)
}

// Requests returns the method and path of every request, in order.
func (a *API) Requests() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.requests)
}

// Paths returns the paths of all objects, sorted.
func (a *API) Paths() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Sorted(maps.Keys(a.objects))
}

func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if a.Before != nil && a.Before(w, r) {
		return
	}
	a.mu.Lock()
	a.requests = append(a.requests, r.Method+" "+r.URL.Path)
	if r.URL.Query().Get("watch") != "" {
		a.mu.Unlock()
		a.watch(w, r)
		return
	}
	defer a.mu.Unlock()
	switch r.Method {
	case http.MethodGet:
		a.get(w, r)
	case http.MethodPost:
		if strings.HasSuffix(r.URL.Path, "/eviction") {
			a.evict(w, r)
			return
		}
		a.post(w, r)
	case http.MethodPatch:
		a.patch(w, r)
	case http.MethodPut:
		a.approve(w, r)
	case http.MethodDelete:
		a.delete(w, r)
	}
}

func (a *API) get(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	switch path {
	case "/readyz":
		_, _ = io.WriteString(w, "ok")
		return
	case "/version":
		_, _ = io.WriteString(w, `{"gitVersion":"v1.36.3"}`)
		return
	}
	if o, ok := a.objects[path]; ok {
		reply(w, http.StatusOK, o)
		return
	}
	if isCollection(path) {
		a.list(w, r)
		return
	}
	notFound(w, path)
}

func (a *API) list(w http.ResponseWriter, r *http.Request) {
	items := []any{}
	collection := strings.Split(r.URL.Path, "/")
	for _, path := range slices.Sorted(maps.Keys(a.objects)) {
		parts := strings.Split(path, "/")
		all := len(parts) == len(collection)+3 && parts[len(parts)-2] == collection[len(collection)-1] // over all namespaces
		in := strings.HasPrefix(path, r.URL.Path+"/") && len(parts) == len(collection)+1
		if (all || in) && matches(a.objects[path], r.URL.Query().Get("labelSelector")) && hasFields(a.objects[path], r.URL.Query().Get("fieldSelector")) {
			items = append(items, a.objects[path])
		}
	}
	page, meta := paged(items, r)
	meta["resourceVersion"] = strconv.Itoa(a.version)
	reply(w, http.StatusOK, map[string]any{"kind": "List", "apiVersion": "v1", "metadata": meta, "items": page})
}

// paged returns the page of a list that a request asks for, and its metadata. The token of the next
// page is the index of its first item.
func paged(items []any, r *http.Request) ([]any, map[string]any) {
	limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
	from, _ := strconv.Atoi(r.URL.Query().Get("continue"))
	items = items[min(from, len(items)):]
	if limit == 0 || len(items) <= limit {
		return items, map[string]any{}
	}
	return items[:limit], map[string]any{"continue": strconv.Itoa(from + limit)}
}

func (a *API) post(w http.ResponseWriter, r *http.Request) {
	object := read(r)
	meta, _ := object["metadata"].(map[string]any)
	path := fmt.Sprintf("%s/%s", r.URL.Path, meta["name"])
	if a.objects[path] != nil {
		fail(w, http.StatusConflict, "AlreadyExists", "", path)
		return
	}
	if a.namespaceMissing(w, path) {
		return
	}
	a.write(w, r, path, nil, object)
}

func (a *API) delete(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	if a.objects[path] == nil {
		notFound(w, path)
		return
	}
	a.writes = append(a.writes, "DELETE "+path)
	for other := range a.objects {
		if other == path || strings.HasPrefix(other, path+"/") {
			a.version++
			a.record("DELETED", other, a.objects[other])
			delete(a.objects, other)
		}
	}
	reply(w, http.StatusOK, map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Success"})
}

func (a *API) patch(w http.ResponseWriter, r *http.Request) {
	path, patch := r.URL.Path, read(r)
	live := a.objects[path]
	apply := strings.HasPrefix(r.Header.Get("Content-Type"), "application/apply-patch")
	if live == nil && !apply {
		notFound(w, path)
		return
	}
	if a.namespaceMissing(w, path) {
		return
	}
	meta, _ := patch["metadata"].(map[string]any)
	if v := meta["resourceVersion"]; v != nil && live != nil && v != live["metadata"].(map[string]any)["resourceVersion"] {
		fail(w, http.StatusConflict, "Conflict", "", path)
		return
	}
	next := merge(clone(live), patch)
	if apply {
		setManagedFields(next, r.URL.Query().Get("fieldManager"), patch)
	}
	a.write(w, r, path, live, next)
}

// write stores the object unless the request is a dry run or changes nothing.
func (a *API) write(w http.ResponseWriter, r *http.Request, path string, live, next map[string]any) {
	if r.URL.Query().Get("dryRun") == "All" || reflect.DeepEqual(live, next) {
		reply(w, http.StatusOK, next)
		return
	}
	a.writes = append(a.writes, r.Method+" "+path)
	reply(w, http.StatusOK, a.store(path, next))
}

func (a *API) store(path string, object map[string]any) map[string]any {
	if a.objects == nil {
		a.objects = map[string]map[string]any{}
	}
	object = clone(object)
	meta, _ := object["metadata"].(map[string]any)
	if meta == nil {
		meta = map[string]any{}
		object["metadata"] = meta
	}
	a.version++
	meta["resourceVersion"] = strconv.Itoa(a.version)
	if a.Written != nil {
		a.Written(path, object)
	}
	kind := "ADDED"
	if a.objects[path] != nil {
		kind = "MODIFIED"
	}
	a.objects[path] = object
	a.record(kind, path, object)
	return object
}

func (a *API) namespaceMissing(w http.ResponseWriter, path string) bool {
	_, rest, ok := strings.Cut(path, "/namespaces/")
	name, _, inside := strings.Cut(rest, "/")
	if !ok || !inside || a.objects["/api/v1/namespaces/"+name] != nil {
		return false
	}
	fail(w, http.StatusNotFound, "NotFound", "namespaces", name)
	return true
}

func read(r *http.Request) map[string]any {
	data, _ := io.ReadAll(r.Body)
	var out map[string]any
	_ = yaml.Unmarshal(data, &out)
	return out
}
