package drain

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"deployer/tasks/control/kube"
	"deployer/tasks/control/kube/kubetest"
)

// serve starts the fake API with node n1, and returns a client of it with a short retry
// timeout.
func serve(t *testing.T, api *kubetest.API) *kube.Client {
	t.Helper()
	server := api.Start(t.Cleanup)
	client, err := kube.New(kube.Options{URL: server.URL, TLS: server.Client().Transport.(*http.Transport).TLSClientConfig})
	if err != nil {
		t.Fatal(err)
	}
	client = client.WithRetryTimeout(time.Second)
	api.Put("/api/v1/nodes/n1", object("v1", "Node", "", "n1", map[string]any{
		"status": map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "True"}}},
	}))
	return client
}

func object(version, kind, namespace, name string, more map[string]any) map[string]any {
	meta := map[string]any{"name": name, "uid": "uid-" + name}
	if namespace != "" {
		meta["namespace"] = namespace
	}
	out := map[string]any{"apiVersion": version, "kind": kind, "metadata": meta}
	for key, value := range more {
		if key == "metadata" {
			for k, v := range value.(map[string]any) {
				meta[k] = v
			}
			continue
		}
		out[key] = value
	}
	return out
}

// putPod puts a pod of a ReplicaSet on n1.
func putPod(api *kubetest.API, name string, labels map[string]any) {
	api.Put("/api/v1/namespaces/default/pods/"+name, object("v1", "Pod", "default", name, map[string]any{
		"metadata": map[string]any{"labels": labels, "ownerReferences": []any{map[string]any{
			"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "1", "controller": true}}},
		"spec": map[string]any{"nodeName": "n1"},
	}))
}

func putBudget(api *kubetest.API, allowed int) {
	api.Put("/apis/policy/v1/namespaces/default/poddisruptionbudgets/web", object("policy/v1", "PodDisruptionBudget", "default", "web", map[string]any{
		"spec":   map[string]any{"selector": map[string]any{"matchLabels": map[string]any{"app": "web"}}},
		"status": map[string]any{"disruptionsAllowed": allowed, "currentHealthy": 2, "desiredHealthy": 2, "expectedPods": 2},
	}))
}

// state returns the state of a node as text.
func state(api *kubetest.API, name string) string {
	node := api.Object("/api/v1/nodes/" + name)
	spec, _ := node["spec"].(map[string]any)
	annotations, _ := node["metadata"].(map[string]any)["annotations"].(map[string]any)
	text := "open"
	if spec["unschedulable"] == true {
		text = "cordoned"
	}
	if annotations[annotation] != nil {
		text += ", marked"
	}
	return text
}

func silent(string) {}

func pods(n int) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("web-%d", i))
	}
	return out
}
