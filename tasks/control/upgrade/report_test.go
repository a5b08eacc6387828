package upgrade

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"deployer/cluster"
	"deployer/engine"
	"deployer/tasks/control/kube"
	"deployer/tasks/control/kube/kubetest"
	"deployer/tasks/control/preflight"
	"deployer/tasks/control/report"
)

// TestReport checks that pods whose disruption budget can never be met are found on the
// nodes that the upgrade drains and on no others, and that nodes must be registered.
func TestReport(t *testing.T) {
	never := map[string]any{"disruptionsAllowed": 0, "currentHealthy": 2, "desiredHealthy": 2, "expectedPods": 2}
	exhausted := map[string]any{"disruptionsAllowed": 0, "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 2}
	const refused = "pod default/web: PodDisruptionBudget default/web never allows a disruption: all 2 pods must be healthy; raise the replicas or change the budget; --drain never leaves"
	for name, c := range map[string]struct {
		action  Report
		version string // of the cluster; wanted is v1.36.3
		budget  map[string]any
		nodes   []string
		node    string // node of the pod
		want    string // of n1, or of all
	}{
		"a budget that never allows a disruption": {version: "v1.35.4", budget: never, want: "n1 " + refused},
		"a budget that is exhausted now":          {version: "v1.35.4", budget: exhausted},
		"no budget":                               {version: "v1.35.4"},
		"no drain for a patch release":            {action: Report{Only: []string{"kubelet"}}, version: "v1.36.1", budget: never},
		"a patch release, drain: always":          {action: Report{Only: []string{"kubelet"}, Drain: DrainAlways}, version: "v1.36.1", budget: never, want: "n1 " + refused},
		"no change, drain: always":                {action: Report{Only: []string{"kubelet"}, Drain: DrainAlways}, version: "v1.36.3", budget: never},
		"drain: never":                            {action: Report{Drain: DrainNever}, version: "v1.35.4", budget: never},
		"no drain for another component":          {action: Report{Only: []string{"kube-apiserver"}}, version: "v1.35.4", budget: never},
		"a node that is not in the run":           {version: "v1.35.4", budget: never, node: "other"},
		"a node that the cluster has lost":        {version: "v1.35.4", nodes: []string{"m1"}, want: "n1 the cluster has no node of this name, and an upgrade adds none; run: deployer scale-up -i x.yaml n1"},
	} {
		api := &kubetest.API{}
		if c.nodes == nil {
			c.nodes = []string{"m1", "n1"}
		}
		for _, node := range c.nodes {
			api.Put("/api/v1/nodes/"+node, map[string]any{"apiVersion": "v1", "kind": "Node", "metadata": map[string]any{"name": node}})
		}
		on := "n1"
		if c.node != "" {
			on = c.node
		}
		owner := []any{map[string]any{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "1", "controller": true}}
		api.Put("/api/v1/namespaces/default/pods/web", map[string]any{"apiVersion": "v1", "kind": "Pod",
			"metadata": map[string]any{"name": "web", "namespace": "default", "uid": "u", "labels": map[string]any{"app": "web"}, "ownerReferences": owner}, "spec": map[string]any{"nodeName": on}})
		if c.budget != nil {
			api.Put("/apis/policy/v1/namespaces/default/poddisruptionbudgets/web", map[string]any{"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
				"metadata": map[string]any{"name": "web", "namespace": "default"},
				"spec":     map[string]any{"selector": map[string]any{"matchLabels": map[string]any{"app": "web"}}}, "status": c.budget})
		}
		server := api.Start(t.Cleanup)
		client, err := kube.New(kube.Options{URL: server.URL, TLS: server.Client().Transport.(*http.Transport).TLSClientConfig})
		if err != nil {
			t.Fatal(err)
		}
		client = client.WithRetryTimeout(time.Second)
		s := newContext(t, c.version)
		engine.Provide(s.Provided, preflight.Commands{ScaleUp: "deployer scale-up -i x.yaml"})
		want, _ := engine.Service[*cluster.Cluster](s.Provided)
		action := c.action
		action.Found = "found"
		rows, err := action.rows(t.Context(), client, s, want)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var got []string
		for _, r := range report.Problems(rows) {
			got = append(got, r.Host+" "+r.Detail+"; "+r.Fix)
		}
		if text := strings.Join(got, "\n"); (text == "") != (c.want == "") || !strings.HasPrefix(text, c.want) {
			t.Errorf("%s: %q, want %q", name, text, c.want)
		}
	}
}
