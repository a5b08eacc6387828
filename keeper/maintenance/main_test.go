package maintenance

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"deployer/keeper/maintenance/profile"
	"deployer/tasks/control/kube"
	"deployer/tasks/control/kube/kubetest"
)

// saturday is the time at which tests begin.
var saturday = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

// cluster is a fake cluster with a controller and a clock.
type cluster struct {
	t      *testing.T
	api    *kubetest.API
	c      *Controller
	now    time.Time
	events []string
}

func newCluster(t *testing.T, file string, doer Doer) *cluster {
	t.Helper()
	k := &cluster{t: t, api: &kubetest.API{}, now: saturday}
	server := k.api.Start(t.Cleanup)
	client, err := kube.New(kube.Options{URL: server.URL, TLS: server.Client().Transport.(*http.Transport).TLSClientConfig})
	if err != nil {
		t.Fatal(err)
	}
	config, err := Load([]byte(file), "maintenance.yaml", os.LookupEnv, doer)
	if err != nil {
		t.Fatal(err)
	}
	k.api.Put("/api/v1/namespaces/kube-system", map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "kube-system"}})
	k.c = &Controller{
		Client: client.WithRetryTimeout(-1), Config: config, Doer: doer,
		Now:    func() time.Time { return k.now },
		Record: func(e Event) { k.events = append(k.events, e.String()) },
	}
	return k
}

// addNode creates a node. pairs are labels.
func (k *cluster) addNode(name string, pairs ...string) {
	labels := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		labels[pairs[i]] = pairs[i+1]
	}
	k.api.Put("/api/v1/nodes/"+name, map[string]any{
		"apiVersion": "v1", "kind": "Node", "metadata": map[string]any{"name": name, "uid": "uid-" + name, "labels": labels},
		"status": map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "True"}}, "nodeInfo": map[string]any{"kubeletVersion": "v1.36.3"}},
	})
}

// addPod creates a pod of a ReplicaSet.
func (k *cluster) addPod(name, node string, labels map[string]any) {
	k.api.Put("/api/v1/namespaces/default", map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "default"}})
	k.api.Put("/api/v1/namespaces/default/pods/"+name, map[string]any{
		"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": name, "namespace": "default", "uid": "uid-" + name, "labels": labels,
			"ownerReferences": []any{map[string]any{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "1", "controller": true}}},
		"spec": map[string]any{"nodeName": node},
	})
}

// addBudget creates a disruption budget for pods with the label app=web.
func (k *cluster) addBudget(allowed int) {
	k.api.Put("/apis/policy/v1/namespaces/default/poddisruptionbudgets/web", map[string]any{
		"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": map[string]any{"name": "web", "namespace": "default"},
		"spec":   map[string]any{"selector": map[string]any{"matchLabels": map[string]any{"app": "web"}}},
		"status": map[string]any{"disruptionsAllowed": allowed, "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1},
	})
}

// pass does one pass and moves the clock by a minute.
func (k *cluster) pass() error {
	err := k.c.Pass(k.t.Context())
	k.now = k.now.Add(time.Minute)
	return err
}

// passes does n passes without errors.
func (k *cluster) passes(n int) {
	k.t.Helper()
	for range n {
		if err := k.pass(); err != nil {
			k.t.Fatal(err)
		}
	}
}

func (k *cluster) meta(node, part string) map[string]any {
	m, _ := k.api.Object("/api/v1/nodes/" + node)["metadata"].(map[string]any)
	out, _ := m[part].(map[string]any)
	return out
}

// edit changes labels or annotations of a node as another client; nil removes a key.
func (k *cluster) edit(node, part string, values map[string]any) {
	object := k.api.Object("/api/v1/nodes/" + node)
	m := object["metadata"].(map[string]any)
	if m[part] == nil {
		m[part] = map[string]any{}
	}
	for key, value := range values {
		if value == nil {
			delete(m[part].(map[string]any), key)
			continue
		}
		m[part].(map[string]any)[key] = value
	}
	k.api.Put("/api/v1/nodes/"+node, object)
}

// state returns the state of a node in a profile.
func (k *cluster) state(node, name string) profile.State {
	k.t.Helper()
	text, _ := k.meta(node, "annotations")[profile.DataAnnotation].(string)
	data, err := profile.ParseData(text)
	if err != nil {
		k.t.Fatal(err)
	}
	if data.Profiles[name] == nil {
		return ""
	}
	return data.Profiles[name].Current
}

func (k *cluster) cordoned(node string) bool {
	spec, _ := k.api.Object("/api/v1/nodes/" + node)["spec"].(map[string]any)
	return spec["unschedulable"] == true
}

// said reports whether an event contains a text.
func (k *cluster) said(text string) bool {
	return slices.ContainsFunc(k.events, func(e string) bool { return strings.Contains(e, text) })
}

func (k *cluster) lease(name string) map[string]any {
	spec, _ := k.api.Object("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/" + name)["spec"].(map[string]any)
	return spec
}

// slackAPI records what is posted to Slack.
type slackAPI struct {
	mu       sync.Mutex
	messages []map[string]string
	down     bool
	answer   string // default: that of chat.postMessage
	requests int
}

// RoundTrip implements http.RoundTripper: the real Slack is never asked.
func (s *slackAPI) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
	if s.down {
		return nil, fmt.Errorf("connection refused")
	}
	message := map[string]string{}
	if err := json.NewDecoder(r.Body).Decode(&message); err != nil {
		return nil, err
	}
	s.messages = append(s.messages, message)
	answer := cmp.Or(s.answer, fmt.Sprintf(`{"ok":true,"ts":"%d.1"}`, len(s.messages)))
	return &http.Response{StatusCode: http.StatusOK, Status: "200 OK", Body: io.NopCloser(strings.NewReader(answer)), Header: http.Header{}}, nil
}

// work is a Doer that ends actions when a test says so.
type work struct {
	asked []Action
	done  map[string]bool
	err   error
}

func (w *work) Types() []string { return []string{"reboot", "playbook"} }

func (w *work) Do(_ context.Context, a Action) (bool, error) {
	w.asked = append(w.asked, a)
	return w.done[a.Trigger], w.err
}
