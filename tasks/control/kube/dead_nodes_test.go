package kube

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"deployer/tasks/control/kube/kubetest"
)

// TestRolloutWithDeadNodes: pods on nodes that do not report are not waited for while another pod is
// available. A node that reports and is not Ready is no such node.
func TestRolloutWithDeadNodes(t *testing.T) {
	t.Parallel()
	type object = map[string]any
	for name, c := range map[string]struct {
		ready     string // condition of the node of the pod that is not available
		available int
		updated   int
		deleted   bool // Kubernetes has deleted that pod
		done      bool
	}{
		"a dead node":                  {ready: "Unknown", available: 1, updated: 2, done: true},
		"a node that reports":          {ready: "False", available: 1, updated: 2},
		"no other pod is available":    {ready: "Unknown", available: 0, updated: 2},
		"another pod is missing":       {ready: "Unknown", available: 1, updated: 1},
		"a pod that has been replaced": {ready: "Unknown", available: 1, updated: 2, deleted: true},
	} {
		api := &kubetest.API{}
		server := api.Start(t.Cleanup)
		for node, ready := range map[string]string{"n1": "True", "n2": c.ready} {
			api.Put("/api/v1/nodes/"+node, object{"apiVersion": "v1", "kind": "Node", "metadata": object{"name": node}, "status": object{"conditions": []any{object{"type": "Ready", "status": ready}}}})
			metadata := object{"namespace": "kube-system", "name": "dns-" + node, "labels": object{"app": "dns"}}
			if c.deleted && node == "n2" {
				metadata["deletionTimestamp"] = time.Now().UTC().Format(time.RFC3339)
			}
			api.Put("/api/v1/namespaces/kube-system/pods/dns-"+node, object{"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": object{"nodeName": node}})
		}
		api.Put("/apis/apps/v1/namespaces/kube-system/deployments/dns", object{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": object{"namespace": "kube-system", "name": "dns"},
			"spec":   object{"replicas": 2, "selector": object{"matchLabels": object{"app": "dns"}}},
			"status": object{"replicas": 2, "updatedReplicas": c.updated, "availableReplicas": c.available}})
		client, err := New(Options{URL: server.URL, TLS: server.Client().Transport.(*http.Transport).TLSClientConfig})
		if err != nil {
			t.Fatal(err)
		}
		err = WaitRollouts(t.Context(), client, []Workload{{Kind: DeploymentKind(), Namespace: "kube-system", Name: "dns"}}, 1, 300*time.Millisecond, func(string) {})
		if (err == nil) != c.done {
			t.Errorf("%s: %v, want done: %t", name, err, c.done)
		}
		if err != nil && !strings.Contains(err.Error(), "rollout: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRolloutListsNodesRarely: a wait that lasts lists the nodes once in ten seconds, and no pods while all
// nodes report.
func TestRolloutListsNodesRarely(t *testing.T) {
	t.Parallel()
	api := &kubetest.API{}
	server := api.Start(t.Cleanup)
	api.Put("/api/v1/nodes/n1", map[string]any{"apiVersion": "v1", "kind": "Node", "metadata": map[string]any{"name": "n1"}, "status": map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "True"}}}})
	api.Put("/apis/apps/v1/namespaces/kube-system/deployments/dns", map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"namespace": "kube-system", "name": "dns"},
		"spec": map[string]any{"replicas": 2, "selector": map[string]any{"matchLabels": map[string]any{"app": "dns"}}}, "status": map[string]any{"updatedReplicas": 2, "availableReplicas": 1}})
	client, err := New(Options{URL: server.URL, TLS: server.Client().Transport.(*http.Transport).TLSClientConfig})
	if err != nil {
		t.Fatal(err)
	}
	dead := &deadNodes{}
	for range 3 {
		if _, done, err := rolloutText(t.Context(), client, Workload{Kind: DeploymentKind(), Namespace: "kube-system", Name: "dns"}, 1, dead); done || err != nil {
			t.Fatalf("done %t, %v", done, err)
		}
	}
	nodes, pods := 0, 0
	for _, request := range api.Requests() {
		switch {
		case strings.Contains(request, "/api/v1/nodes"):
			nodes++
		case strings.Contains(request, "/pods"):
			pods++
		}
	}
	if nodes != 1 || pods != 0 {
		t.Errorf("nodes were listed %d times, and pods %d times, in %q", nodes, pods, api.Requests())
	}
}
