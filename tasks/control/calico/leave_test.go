package calico

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestLeavingPatch(t *testing.T) {
	annotations := map[string]string{addressAnnotation: "10.0.0.1/24", clusterIDAnnotation: "10.0.0.1", "mine": "x"}
	labels := map[string]string{reflectorLabel: "m1", clientPrefix + "m2": "true", routerPrefix + "edge": "ab", "mine": "x"}
	want := map[string]any{"metadata": map[string]any{
		"annotations": map[string]any{addressAnnotation: nil, clusterIDAnnotation: nil},
		"labels":      map[string]any{reflectorLabel: nil, clientPrefix + "m2": nil, routerPrefix + "edge": nil},
	}}
	if diff := cmp.Diff(want, leavingPatch(annotations, labels)); diff != "" {
		t.Error(diff)
	}
	if got := leavingPatch(map[string]string{"mine": "x"}, map[string]string{"mine": "x"}); got != nil {
		t.Errorf("a patch of a node without Calico: %v", got)
	}
	want = map[string]any{"metadata": map[string]any{"annotations": map[string]any{addressAnnotation: nil}}}
	if diff := cmp.Diff(want, endedPatch(annotations)); diff != "" {
		t.Error(diff)
	}
	if got := endedPatch(map[string]string{clusterIDAnnotation: "10.0.0.1"}); got != nil {
		t.Errorf("a patch of a node whose Calico has ended: %v", got)
	}
}

func TestOnlyOwnPasswords(t *testing.T) {
	for key, want := range map[string]bool{passwordKeys + "edge.1": true, "rack-a": false} {
		secret := &unstructured.Unstructured{Object: map[string]any{"data": map[string]any{passwordKeys + "tor.1": "eA==", key: "eA=="}}}
		if got := onlyOwnPasswords(secret); got != want {
			t.Errorf("with the key %s: %v", key, got)
		}
	}
}
