package kube

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"deployer/engine"
	"deployer/tasks/control/kube/kubetest"
)

// TestRecreate: a host decides about its own pods of the Deployment only; pods that serve nobody
// are deleted first.
func TestRecreate(t *testing.T) {
	api := &kubetest.API{}
	api.Put("/apis/apps/v1/namespaces/kube-system/deployments/coredns", map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "coredns", "namespace": "kube-system"},
		"spec":   map[string]any{"replicas": 1, "selector": map[string]any{"matchLabels": map[string]any{"k8s-app": "kube-dns"}}},
		"status": map[string]any{"replicas": 1, "updatedReplicas": 1, "availableReplicas": 1},
	})
	pod := func(name, node, app, ready string) {
		api.Put("/api/v1/namespaces/kube-system/pods/"+name, map[string]any{
			"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": name, "namespace": "kube-system", "labels": map[string]any{"k8s-app": app}},
			"spec": map[string]any{"nodeName": node}, "status": map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": ready}}},
		})
	}
	pod("coredns-a", "n1", "kube-dns", "True")
	pod("coredns-b", "n2", "kube-dns", "False")
	pod("coredns-c", "m1", "kube-dns", "True")
	pod("kube-proxy-n1", "n1", "kube-proxy", "True")
	s := newContext(t, api)
	r := &Recreate{Deployment: "kube-system/coredns", Found: "dns", Why: "it started before"}
	if change, err := r.Check(t.Context(), s); err != nil || change.Needed {
		t.Fatalf("without a named pod: %+v, %v", change, err)
	}
	s.Results["n1"]["dns"] = engine.Output{"outdated_pods": []any{"coredns-a", "coredns-c", "kube-proxy-n1", "no-such-pod", 7}}
	s.Results["n2"]["dns"] = engine.Output{"outdated_pods": []any{"coredns-b"}}
	change, err := r.Check(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	var targets []string
	for _, e := range change.Effects {
		targets = append(targets, e.Target)
	}
	if want := []string{"Pod kube-system/coredns-a", "Pod kube-system/coredns-b"}; !slices.Equal(targets, want) {
		t.Fatalf("targets %q, want %q", targets, want)
	}
	if _, err := r.Apply(context.Background(), s, change); err != nil {
		t.Fatal(err)
	}
	if want := []string{"DELETE /api/v1/namespaces/kube-system/pods/coredns-b", "DELETE /api/v1/namespaces/kube-system/pods/coredns-a"}; !slices.Equal(deletions(api), want) {
		t.Errorf("writes %q, want %q", api.Writes(), want)
	}
	if api.Object("/api/v1/namespaces/kube-system/pods/kube-proxy-n1") == nil || api.Object("/api/v1/namespaces/kube-system/pods/coredns-c") == nil {
		t.Error("a host had a pod deleted that is none of its own")
	}
}

func deletions(api *kubetest.API) (out []string) {
	for _, w := range api.Writes() {
		if len(w) > 6 && w[:6] == "DELETE" {
			out = append(out, w)
		}
	}
	return out
}

// TestRolloutErrorHasTheLog: the error of a rollout has the last line that a failed container has
// written.
func TestRolloutErrorHasTheLog(t *testing.T) {
	api := &kubetest.API{}
	api.Put("/apis/apps/v1/namespaces/kube-system/deployments/coredns", map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "coredns", "namespace": "kube-system"},
		"spec": map[string]any{"selector": map[string]any{"matchLabels": map[string]any{"k8s-app": "kube-dns"}}},
	})
	api.Put("/api/v1/namespaces/kube-system/pods/coredns-a", map[string]any{
		"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "coredns-a", "namespace": "kube-system", "labels": map[string]any{"k8s-app": "kube-dns"}},
		"spec": map[string]any{"nodeName": "n1"},
		"status": map[string]any{"containerStatuses": []any{map[string]any{"name": "coredns",
			"state":     map[string]any{"waiting": map[string]any{"reason": "CrashLoopBackOff", "message": "back-off 40s"}},
			"lastState": map[string]any{"terminated": map[string]any{"exitCode": 1}}}}},
	})
	api.Before = logOfPod("plugin/reload: running\n[FATAL] plugin/loop: Loop (127.0.0.1:1 -> :53)\x1b[31m detected\n")
	lines := PodProblems(t.Context(), serve(t, api), Workload{Kind: DeploymentKind(), Namespace: "kube-system", Name: "coredns"})
	want := "pod kube-system/coredns-a on n1: container coredns: CrashLoopBackOff back-off 40s; its log ends: [FATAL] plugin/loop: Loop (127.0.0.1:1 -> :53) detected"
	if len(lines) != 1 || lines[0] != want {
		t.Errorf("%q, want %q", lines, want)
	}
}

// logOfPod answers requests for the log of a pod.
func logOfPod(text string) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/log") {
			return false
		}
		_, _ = w.Write([]byte(text))
		return true
	}
}
