package replace

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"deployer/tasks/control/kube"
	"deployer/tasks/control/kube/kubetest"
)

var saturday = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

// cluster is a fake cluster with API server v1.36.3, a controller and a clock.
type cluster struct {
	t      *testing.T
	api    *kubetest.API
	c      *Controller
	now    time.Time
	events []string
}

func newCluster(t *testing.T, file string, variables map[string]string) *cluster {
	t.Helper()
	k := &cluster{t: t, api: &kubetest.API{}, now: saturday}
	server := k.api.Start(t.Cleanup)
	client, err := kube.New(kube.Options{URL: server.URL, TLS: server.Client().Transport.(*http.Transport).TLSClientConfig})
	if err != nil {
		t.Fatal(err)
	}
	config, err := Load([]byte(file), "kubernikus.yaml", func(name string) (string, bool) { v, ok := variables[name]; return v, ok })
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"kube-system", "default"} {
		k.api.Put("/api/v1/namespaces/"+name, map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}})
	}
	k.c = &Controller{Client: client.WithRetryTimeout(-1), Config: config, Now: func() time.Time { return k.now },
		Record: func(e Event) { k.events = append(k.events, e.String()) }}
	return k
}

func (k *cluster) addNode(name, version string, labels map[string]any) {
	k.api.Put("/api/v1/nodes/"+name, map[string]any{
		"apiVersion": "v1", "kind": "Node", "metadata": map[string]any{"name": name, "uid": "uid-" + name, "labels": labels},
		"spec":   map[string]any{"providerID": "openstack:///id-" + name},
		"status": map[string]any{"nodeInfo": map[string]any{"kubeletVersion": version}, "addresses": []any{map[string]any{"type": "InternalIP", "address": "192.0.2.7"}}},
	})
}

func (k *cluster) addPod(name, node string) {
	k.api.Put("/api/v1/namespaces/default/pods/"+name, map[string]any{
		"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": name, "namespace": "default", "uid": "uid-" + name, "labels": map[string]any{"app": "web"}},
		"spec": map[string]any{"nodeName": node},
	})
}

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

func (k *cluster) passes(n int) {
	k.t.Helper()
	for range n {
		if err := k.pass(); err != nil {
			k.t.Fatal(err)
		}
	}
}

func (k *cluster) exists(node string) bool { return k.api.Object("/api/v1/nodes/"+node) != nil }

func (k *cluster) label(node, key string) any {
	labels, _ := k.api.Object("/api/v1/nodes/" + node)["metadata"].(map[string]any)["labels"].(map[string]any)
	return labels[key]
}

func (k *cluster) setLabel(node, key string, value any) {
	object := k.api.Object("/api/v1/nodes/" + node)
	labels, _ := object["metadata"].(map[string]any)["labels"].(map[string]any)
	if labels == nil {
		labels = map[string]any{}
	}
	if labels[key] = value; value == nil {
		delete(labels, key)
	}
	object["metadata"].(map[string]any)["labels"] = labels
	k.api.Put("/api/v1/nodes/"+node, object)
}

func (k *cluster) cordoned(node string) bool {
	spec, _ := k.api.Object("/api/v1/nodes/" + node)["spec"].(map[string]any)
	return spec["unschedulable"] == true
}

func (k *cluster) said(text string) bool {
	return slices.ContainsFunc(k.events, func(e string) bool { return strings.Contains(e, text) })
}
