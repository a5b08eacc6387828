package verify

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"deployer/tasks/control/kube"
	"deployer/tasks/control/report"
)

// putNamespace stores the namespace of an earlier check that was deleted some time ago, with a
// condition of its removal.
func (w *fakeCluster) putNamespace(name string, ago time.Duration, condition, message string) {
	conditions := []any{}
	if condition != "" {
		conditions = []any{map[string]any{"type": "NamespaceContentRemaining", "status": "False"}, map[string]any{"type": condition, "status": "True", "message": message}}
	}
	at := time.Now().Add(-ago).UTC().Format(time.RFC3339)
	w.api.Put("/api/v1/namespaces/"+name, map[string]any{
		"apiVersion": "v1", "kind": "Namespace",
		"metadata": map[string]any{"name": name, "labels": map[string]any{kube.TestLabel: "true"}, "creationTimestamp": at, "deletionTimestamp": at},
		"status":   map[string]any{"conditions": conditions},
	})
}

// keepDeleted makes deleted namespaces stay, as with an APIService that is not available. The
// namespace controller says so some time after the deletion.
func (w *fakeCluster) keepDeleted() {
	w.object("/apis/apiregistration.k8s.io/v1/apiservices/v1beta1.metrics.example", "apiregistration.k8s.io/v1", "APIService", "v1beta1.metrics.example", map[string]any{
		"status": map[string]any{"conditions": []any{map[string]any{"type": "Available", "status": "False", "reason": "MissingEndpoints"}}},
	})
	w.api.Before = func(rw http.ResponseWriter, r *http.Request) bool {
		name, ok := strings.CutPrefix(r.URL.Path, "/api/v1/namespaces/")
		if r.Method != http.MethodDelete || !ok || strings.Contains(name, "/") {
			return w.proxy(rw, r)
		}
		w.putNamespace(name, 0, "", "")
		time.AfterFunc(time.Second, func() {
			w.putNamespace(name, 0, "NamespaceDeletionDiscoveryFailure", "Discovery failed for some groups, 1 failing: metrics.example/v1beta1: stale")
		})
		_, _ = io.WriteString(rw, `{"kind": "Status", "apiVersion": "v1", "status": "Success"}`)
		return true
	}
}

// TestNamespaceThatStaysIsANote: the namespace that a check cannot remove is named with the cause
// and what to do, and so are those of earlier checks. It is no problem of its own.
func TestNamespaceThatStaysIsANote(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(*fakeCluster)
		want    []string // parts of the note; empty: none
	}{
		"removed": {func(*fakeCluster) {}, nil},
		"one that is being removed": {func(w *fakeCluster) {
			w.putNamespace("deployer-verify-a", time.Minute, "NamespaceContentRemaining", "pods")
		}, nil},
		"an APIService is not there": {(*fakeCluster).keepDeleted, []string{"namespaces that stay Terminating, without pods: deployer-verify-", "metrics.example/v1beta1: stale", "kubectl get apiservice"}},
		"it was not there before": {func(w *fakeCluster) {
			w.putNamespace("deployer-verify-a", 0, "NamespaceDeletionDiscoveryFailure", "x.example")
		}, []string{"without pods: deployer-verify-a: ", "x.example", "kubectl get apiservice"}},
		"another reason, for long": {func(w *fakeCluster) {
			w.putNamespace("deployer-verify-a", time.Hour, "NamespaceFinalizersRemaining", "a finalizer")
		}, []string{"without pods: deployer-verify-a: ", "a finalizer; kubectl describe namespace deployer-verify-a"}},
		"its own reason is named first": {func(w *fakeCluster) {
			w.putNamespace("deployer-verify-0", time.Hour, "NamespaceFinalizersRemaining", "a finalizer")
			w.keepDeleted()
		}, []string{"deployer-verify-0, deployer-verify-", "metrics.example"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFakeCluster(t, "n1")
			c.prepare(w)
			began := time.Now()
			rows := slices.DeleteFunc(Pods(t.Context(), w.client, options()), func(r report.Row) bool { return r.Check != checkNamespace })
			if took := time.Since(began); took > deletionTimeout {
				t.Errorf("the check took %s", took)
			}
			if len(rows) != min(len(c.want), 1) {
				t.Fatalf("rows %+v", rows)
			}
			for _, want := range c.want {
				if !rows[0].OK || !rows[0].Skipped || !strings.Contains(rows[0].Detail, want) {
					t.Errorf("row %+v, want %q", rows[0], want)
				}
			}
		})
	}
}
