package status

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"deployer/keeper/world"
	"deployer/tasks/control/kube"
	"deployer/tasks/control/kube/kubetest"

	"github.com/google/go-cmp/cmp"
)

// TestFences: attempts are kept for an hour, beside what else the ConfigMap has; one that cannot be read is an error, because
// nothing would limit the next ones.
func TestFences(t *testing.T) {
	api := &kubetest.API{}
	server := api.Start(t.Cleanup)
	client, err := kube.New(kube.Options{URL: server.URL, TLS: server.Client().Transport.(*http.Transport).TLSClientConfig})
	if err != nil {
		t.Fatal(err)
	}
	api.Put("/api/v1/namespaces/kube-system", map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "kube-system"}})
	at := time.Date(2026, 11, 28, 3, 0, 0, 0, time.UTC)
	if got, err := Fences(t.Context(), client, at); err != nil || got != nil {
		t.Errorf("without a ConfigMap: %v, %v", got, err)
	}
	first, second := world.Fencing{Node: "n1", UID: "u1", At: at}, world.Fencing{Node: "n2", UID: "u2", At: at.Add(30 * time.Minute)}
	for _, f := range []world.Fencing{first, second} {
		if err := AddFence(t.Context(), client, f); err != nil {
			t.Fatal(err)
		}
	}
	for minutes, want := range map[int][]world.Fencing{30: {first, second}, 59: {first, second}, 60: {second}, 90: {}} {
		got, err := Fences(t.Context(), client, at.Add(time.Duration(minutes)*time.Minute))
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("after %d minutes: %v %s", minutes, err, diff)
		}
	}
	api.Put("/api/v1/namespaces/kube-system/configmaps/deployer-keeper", map[string]any{"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"namespace": "kube-system", "name": "deployer-keeper", "annotations": map[string]any{"deployer/fences": "{"}}})
	if err := AddFence(t.Context(), client, first); err == nil || !strings.Contains(err.Error(), "annotation deployer/fences of ConfigMap kube-system/deployer-keeper") {
		t.Errorf("an annotation that is no list: %v", err)
	}
}
