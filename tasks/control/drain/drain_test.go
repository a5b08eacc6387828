package drain

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"deployer/engine"
	"deployer/tasks/control/kube/kubetest"
)

func TestDrainEvictsPodsAndCordonsTheNode(t *testing.T) {
	t.Parallel()
	api := &kubetest.API{}
	c := serve(t, api)
	for _, name := range pods(3) {
		putPod(api, name, map[string]any{"app": "db"})
	}
	api.Put("/api/v1/namespaces/default/pods/elsewhere", object("v1", "Pod", "default", "elsewhere", map[string]any{"spec": map[string]any{"nodeName": "n2"}}))
	done, err := Drain(t.Context(), c, "n1", Options{Run: "r1", Timeout: 20 * time.Second}, silent)
	if err != nil || done.Evicted != 3 || done.Was != Open {
		t.Fatalf("%+v, %v", done, err)
	}
	if got := state(api, "n1"); got != "cordoned, marked" {
		t.Errorf("n1 is %s", got)
	}
	if api.Object("/api/v1/namespaces/default/pods/elsewhere") == nil {
		t.Error("a pod of another node was evicted")
	}
	if was, err := Uncordon(t.Context(), c, "n1", false); err != nil || was != Ours || state(api, "n1") != "open" {
		t.Errorf("uncordon: %v, %v, n1 is %s", was, err, state(api, "n1"))
	}
}

func TestDrainRetriesWhileABudgetForbidsEviction(t *testing.T) {
	t.Parallel()
	api := &kubetest.API{}
	c := serve(t, api)
	for _, name := range pods(2) {
		putPod(api, name, map[string]any{"app": "web"})
	}
	putBudget(api, 1)
	var said []string
	go func() {
		for len(evictions(api)) == 0 {
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(time.Second)
		putBudget(api, 1) // the pod runs on another node by now
	}()
	done, err := Drain(t.Context(), c, "n1", Options{Timeout: 20 * time.Second}, func(text string) { said = append(said, text) })
	if err != nil || done.Evicted != 2 {
		t.Fatalf("%+v, %v", done, err)
	}
	if !slices.ContainsFunc(said, func(s string) bool {
		return strings.Contains(s, "PodDisruptionBudget default/web allows no disruption now")
	}) {
		t.Errorf("said %q", said)
	}
}

func TestFailedDrainUncordons(t *testing.T) {
	t.Parallel()
	interrupted := errors.New("interrupted")
	for name, c := range map[string]struct {
		prepare func(*kubetest.API)
		options Options
		stop    bool
		after   string
		want    []string
	}{
		"a budget without allowed disruptions": {func(a *kubetest.API) { putBudget(a, 0) }, Options{Timeout: 3 * time.Second}, false, "open",
			[]string{"node n1 is not drained: timeout after 3s", "default/web-0 (PodDisruptionBudget default/web allows no disruption now: 2 of 2 pods are healthy, 2 must be)",
				"kubectl get pods -A -o wide --field-selector spec.nodeName=n1", "it takes pods again"}},
		"the run is stopped": {func(a *kubetest.API) { putBudget(a, 0) }, Options{Timeout: time.Minute}, true, "open", []string{"interrupted", "it takes pods again"}},
		"cordoned by another program": {func(a *kubetest.API) { putBudget(a, 0); cordonBy(a, "") }, Options{Timeout: 2 * time.Second}, false, "cordoned",
			[]string{"it was cordoned by somebody else before, and stays so"}},
		"cordoned by an earlier run": {func(a *kubetest.API) { putBudget(a, 0); cordonBy(a, `{"run":"r0"}`) }, Options{Timeout: 2 * time.Second}, false, "open", []string{"it takes pods again"}},
		"a new pod without controller": {func(a *kubetest.API) {
			a.Put("/api/v1/namespaces/default/pods/lonely", object("v1", "Pod", "default", "lonely", map[string]any{"spec": map[string]any{"nodeName": "n1"}}))
		}, Options{Timeout: 5 * time.Second}, false, "open", []string{"default/lonely: no controller", "force: true", "it takes pods again"}},
		"no timeout": {func(*kubetest.API) {}, Options{}, false, "open", []string{"timeout must be more than 0"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := &kubetest.API{}
			client := serve(t, api)
			putPod(api, "web-0", map[string]any{"app": "web"})
			c.prepare(api)
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			if c.stop {
				time.AfterFunc(time.Second, func() { cancel(interrupted) })
			}
			_, err := Drain(ctx, client, "n1", c.options, silent)
			for _, want := range c.want {
				if err == nil || !strings.Contains(words(err), want) {
					t.Errorf("%v lacks %q", err, want)
				}
			}
			if got := state(api, "n1"); got != c.after {
				t.Errorf("n1 is %s, want %s", got, c.after)
			}
			if len(evictions(api)) > 0 {
				t.Errorf("evicted %q", evictions(api))
			}
		})
	}
}

func TestLostAPIErrorNamesTheUncordonCommand(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	away := false
	api := &kubetest.API{}
	api.Before = func(w http.ResponseWriter, r *http.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		away = away || strings.HasSuffix(r.URL.Path, "/eviction")
		if away {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		return away
	}
	c := serve(t, api)
	putPod(api, "web-0", nil)
	_, err := Drain(t.Context(), c, "n1", Options{Timeout: 20 * time.Second}, silent)
	for _, want := range []string{"evicting pod default/web-0", "IT IS LEFT CORDONED", "kubectl uncordon n1"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v lacks %q", err, want)
		}
	}
}

// TestPodOfATerminatingNamespace: the API refuses the eviction of a pod that is
// deleted with its namespace.
func TestPodOfATerminatingNamespace(t *testing.T) {
	t.Parallel()
	api := &kubetest.API{}
	refused := make(chan bool, 10)
	api.Before = func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/eviction") {
			return false
		}
		refused <- true
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,
			"message":"pods \"web-0\" is forbidden: unable to create new content in namespace default because it is being terminated",
			"details":{"causes":[{"reason":"NamespaceTerminating","field":"metadata.namespace"}]}}`)
		return true
	}
	c := serve(t, api)
	putPod(api, "web-0", nil)
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web-0"}}
	go func() {
		<-refused
		_ = c.DeletePod(context.Background(), &pod, nil) // as the namespace controller does
	}()
	if _, err := Drain(t.Context(), c, "n1", Options{Timeout: 20 * time.Second}, silent); err != nil {
		t.Fatal(err)
	}
	if got := state(api, "n1"); got != "cordoned, marked" {
		t.Errorf("n1 is %s", got)
	}
}

func TestDeleteIgnoresBudgets(t *testing.T) {
	t.Parallel()
	api := &kubetest.API{}
	c := serve(t, api)
	putPod(api, "web-0", map[string]any{"app": "web"})
	putBudget(api, 0)
	if _, err := Drain(t.Context(), c, "n1", Options{Timeout: 20 * time.Second, DisableEviction: true}, silent); err != nil {
		t.Fatal(err)
	}
	if got := api.Writes(); !slices.Contains(got, "DELETE /api/v1/namespaces/default/pods/web-0") {
		t.Errorf("wrote %q", got)
	}
}

func TestUncordonKeepsCordonsOfOthers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		mark  string
		force bool
		want  string
	}{
		"of a run": {`{"run":"r0"}`, false, "open"}, "of another program": {"", false, "cordoned"}, "of another program, with force": {"", true, "open"},
	} {
		api := &kubetest.API{}
		client := serve(t, api)
		cordonBy(api, c.mark)
		if _, err := Uncordon(t.Context(), client, "n1", c.force); err != nil || state(api, "n1") != c.want {
			t.Errorf("%s: %v, n1 is %s, want %s", name, err, state(api, "n1"), c.want)
		}
	}
}

func TestWaitAliveRequiresARenewedLease(t *testing.T) {
	t.Parallel()
	api := &kubetest.API{}
	c := serve(t, api)
	lease := func(at string) {
		api.Put("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n1", object("coordination.k8s.io/v1", "Lease", "kube-node-lease", "n1",
			map[string]any{"spec": map[string]any{"renewTime": at}}))
	}
	lease("2026-11-22T01:00:00.000000Z")
	err := WaitAlive(t.Context(), c, "n1", time.Second, silent)
	if err == nil || !strings.Contains(err.Error(), "its kubelet has not been heard since") {
		t.Errorf("a dead kubelet: %v", err)
	}
	time.AfterFunc(time.Second, func() { lease("2026-11-22T01:00:10.000000Z") })
	if err := WaitAlive(t.Context(), c, "n1", 10*time.Second, silent); err != nil {
		t.Error(err)
	}
}

func evictions(api *kubetest.API) []string {
	return slices.DeleteFunc(api.Writes(), func(w string) bool { return !strings.HasPrefix(w, "EVICT ") })
}

func cordonBy(api *kubetest.API, mark string) {
	node := api.Object("/api/v1/nodes/n1")
	node["spec"] = map[string]any{"unschedulable": true}
	if mark != "" {
		node["metadata"].(map[string]any)["annotations"] = map[string]any{annotation: mark}
	}
	api.Put("/api/v1/nodes/n1", node)
}

// words returns the message and the detail of a failure, or the text of any other
// error.
func words(err error) string {
	var f *engine.Failure
	if errors.As(err, &f) {
		return f.Message + "\n" + f.Detail
	}
	return err.Error()
}
