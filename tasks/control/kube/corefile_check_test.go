package kube

import (
	"context"
	"strings"
	"testing"
	"time"

	"deployer/tasks/control/actiontest"
	"deployer/tasks/control/kube/kubetest"
)

// dnsManifests are the objects of cluster DNS with a Corefile, as the template of role dns has them.
func dnsManifests(corefile string) string {
	return `
apiVersion: v1
kind: ConfigMap
metadata: {name: coredns, namespace: kube-system}
data: {Corefile: "` + corefile + `"}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: coredns, namespace: kube-system}
spec:
  template:
    metadata: {labels: {k8s-app: kube-dns}}
    spec:
      topologySpreadConstraints: [{maxSkew: 1}]
      containers: [{name: coredns, image: "coredns:1"}]
      volumes: [{name: config, configMap: {name: coredns}}]
`
}

// renderingContext renders one text for each template.
type renderingContext struct {
	*actiontest.Context
	text string
}

func (r renderingContext) Render(string) ([]byte, error) { return []byte(r.text), nil }

// TestCorefileCheck: a pod of its own starts with another Corefile only, no Service selects it, and
// nothing is left of it, whether it becomes ready or not.
func TestCorefileCheck(t *testing.T) {
	for name, tt := range map[string]struct {
		now    string // Corefile of the cluster; empty: none
		status map[string]any
		needed bool
		err    string
	}{
		"new cluster":   {"", nil, false, ""},
		"same Corefile": {"new", nil, false, ""},
		"ready":         {"old", map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "True"}}}, true, ""},
		"ends": {"old", map[string]any{"containerStatuses": []any{map[string]any{
			"name": "coredns", "restartCount": int64(1), "state": map[string]any{"waiting": map[string]any{"reason": "CrashLoopBackOff"}},
		}}}, true, "CrashLoopBackOff"},
		"does not become ready": {"old", map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "False", "reason": "ContainersNotReady"}}}, true, "ContainersNotReady"},
	} {
		t.Run(name, func(t *testing.T) {
			api := &kubetest.API{}
			api.Put("/api/v1/namespaces/kube-system", map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "kube-system"}})
			if tt.now != "" {
				api.Put("/api/v1/namespaces/kube-system/configmaps/coredns", map[string]any{
					"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "coredns", "namespace": "kube-system"}, "data": map[string]any{"Corefile": tt.now},
				})
			}
			var pod map[string]any
			api.Written = func(path string, object map[string]any) {
				if strings.Contains(path, "/pods/") {
					object["status"] = tt.status
					pod = object
				}
			}
			actx := renderingContext{newContext(t, api), dnsManifests("new")}
			check := &CorefileCheck{Template: "coredns.yaml.tmpl", Timeout: 2 * time.Second}
			change, err := check.Check(t.Context(), actx)
			if err != nil || change.Needed != tt.needed {
				t.Fatalf("needed: %v, %v", change.Needed, err)
			}
			if !tt.needed {
				return
			}
			_, err = check.Apply(context.Background(), actx, change)
			if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("error %v, want %q", err, tt.err)
			}
			for _, path := range api.Paths() {
				if strings.Contains(path, "-check-") {
					t.Errorf("%s is left", path)
				}
			}
			meta, _ := pod["metadata"].(map[string]any)
			labels, _ := meta["labels"].(map[string]any)
			spec, _ := pod["spec"].(map[string]any)
			volumes, _ := spec["volumes"].([]any)
			if labels["k8s-app"] != nil || len(volumes) != 1 || volumes[0].(map[string]any)["configMap"].(map[string]any)["name"] != meta["name"] {
				t.Errorf("the pod serves clients, or has the Corefile of others: %v", pod)
			}
		})
	}
}
