//go:build lab

package lifecycle

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// configMapWatch is a client that lists and watches the ConfigMaps of the namespace default
// through a node's proxy, with the reflector that controllers and kubelets have.
type configMapWatch struct {
	api   dynamic.ResourceInterface
	store cache.Store

	mu       sync.Mutex
	highest  uint64
	problems []string
}

// watchRights let the user of the prober list and watch the ConfigMaps of the namespace default.
const watchRights = `apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: watch-configmaps, namespace: default}
rules: [{apiGroups: [""], resources: [configmaps], verbs: [get, list, watch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: watch-configmaps, namespace: default}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: watch-configmaps}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: probing}]
`

// watchConfigMaps starts a watch that ends with the scenario, and waits for its first list.
// A snapshot that is restored must be from after it, because the client's rights are objects too.
func (s *site) watchConfigMaps() *configMapWatch {
	s.T.Helper()
	s.Shell("m1", "kubectl --kubeconfig /etc/kubernetes/admin.conf apply -f - <<'EOF'\n"+watchRights+"EOF")
	target := s.suite.target
	client, err := dynamic.NewForConfig(&rest.Config{
		Host:      target.API,
		Transport: &http.Transport{DialContext: target.Clients[0].Dial, TLSClientConfig: target.APITLS.Clone(), ForceAttemptHTTP2: true},
	})
	if err != nil {
		s.T.Fatal(err)
	}
	w := &configMapWatch{api: client.Resource(configMaps).Namespace("default"), store: cache.NewStore(cache.MetaNamespaceKeyFunc)}
	source := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			list, err := w.api.List(ctx, o)
			if err == nil {
				w.served("a list", list.GetResourceVersion())
			}
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			events, err := w.api.Watch(ctx, o)
			if err != nil {
				return nil, err
			}
			return watch.Filter(events, func(e watch.Event) (watch.Event, bool) {
				if object, ok := e.Object.(*unstructured.Unstructured); ok && e.Type != watch.Error {
					w.served("an event "+string(e.Type), object.GetResourceVersion())
				}
				return e, true
			}), nil
		},
	}
	reflector := cache.NewReflectorWithOptions(source, &unstructured.Unstructured{}, w.store, cache.ReflectorOptions{TypeDescription: "ConfigMaps"})
	ctx, stop := context.WithCancel(s.T.Context())
	var running sync.WaitGroup
	running.Go(func() { reflector.RunWithContext(ctx) })
	s.T.Cleanup(func() { stop(); running.Wait() })
	w.requireCurrent(s)
	return w
}

// served records a resource version that the API has served. A list through a watch
// has the versions of its objects, which may be old, so only lists and bookmarks must
// not go backwards.
func (w *configMapWatch) served(by, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	version, err := strconv.ParseUint(text, 10, 64)
	switch {
	case err != nil:
		w.problems = append(w.problems, fmt.Sprintf("%s has the resource version %q", by, text))
	case version >= w.highest:
		w.highest = version
	case by == "a list" || by == "an event "+string(watch.Bookmark):
		w.problems = append(w.problems, fmt.Sprintf("%s has the resource version %d after %d was served", by, version, w.highest))
	}
}

// version returns the highest resource version that was served.
func (w *configMapWatch) version() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.highest
}

// requireCurrent waits until the client has the objects of a list that is read from etcd, and
// fails when a resource version has gone backwards.
func (w *configMapWatch) requireCurrent(s *site) {
	s.T.Helper()
	s.Eventually(2*time.Minute, "the watch has the ConfigMaps that etcd has", func() error {
		list, err := w.api.List(s.T.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		want, have := []string{}, []string{}
		for _, object := range list.Items {
			want = append(want, object.GetName()+" "+string(object.GetUID()))
		}
		for _, object := range w.store.List() {
			have = append(have, object.(*unstructured.Unstructured).GetName()+" "+string(object.(*unstructured.Unstructured).GetUID()))
		}
		slices.Sort(want)
		slices.Sort(have)
		if !slices.Equal(want, have) {
			return fmt.Errorf("etcd has %v, and the watch %v", want, have)
		}
		return nil
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.problems {
		s.T.Error(p)
	}
	w.problems = nil
}

// requireRaised checks after a restore that the API serves only resource versions
// above before, and that a watch from before gets the error to list again.
func (w *configMapWatch) requireRaised(s *site, before uint64) {
	s.T.Helper()
	w.requireCurrent(s)
	list, err := w.api.List(s.T.Context(), metav1.ListOptions{})
	if err != nil {
		s.T.Fatal(err)
	}
	if now, err := strconv.ParseUint(list.GetResourceVersion(), 10, 64); err != nil || now <= before {
		s.T.Errorf("after the restore the resource version is %s, and %d was served before", list.GetResourceVersion(), before)
	}
	for _, m := range masters {
		answer := s.Shell(m, fmt.Sprintf("kubectl --kubeconfig /etc/kubernetes/admin.conf get --raw '/api/v1/namespaces/default/configmaps?watch=1&timeoutSeconds=10&resourceVersion=%d' 2>&1 || true", before))
		if !strings.Contains(answer, `"code":410`) && !strings.Contains(answer, "too old resource version") && !strings.Contains(answer, "Expired") {
			s.T.Errorf("%s: a watch from the resource version %d before the restore is told %q, want 410", m, before, answer)
		}
	}
}
