package nodes

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"deployer/keeper/maintenance/profile"
	"deployer/tasks/control/kube"
	"deployer/tasks/control/kube/kubetest"
)

func serve(t *testing.T) (*kubetest.API, *kube.Client) {
	t.Helper()
	api := &kubetest.API{}
	server := api.Start(t.Cleanup)
	client, err := kube.New(kube.Options{URL: server.URL, TLS: server.Client().Transport.(*http.Transport).TLSClientConfig})
	if err != nil {
		t.Fatal(err)
	}
	return api, client.WithRetryTimeout(10 * time.Second)
}

func put(api *kubetest.API, name string, annotations map[string]any) {
	api.Put("/api/v1/nodes/"+name, map[string]any{
		"apiVersion": "v1", "kind": "Node",
		"metadata": map[string]any{"name": name, "uid": "uid-" + name, "annotations": annotations, "finalizers": []any{"a"}, "managedFields": []any{map[string]any{"manager": "kubelet"}}},
		"status":   map[string]any{"images": []any{map[string]any{"names": []any{"image"}}}, "nodeInfo": map[string]any{"kubeletVersion": "v1.36.3"}},
	})
}

func TestListReadsAllPagesWithoutWhatIsLarge(t *testing.T) {
	api, c := serve(t)
	for i := range 41 {
		put(api, fmt.Sprintf("n%02d", 40-i), nil)
	}
	all, err := List(t.Context(), c)
	if err != nil || len(all) != 41 || !slices.IsSortedFunc(all, func(a, b *corev1.Node) int { return strings.Compare(a.Name, b.Name) }) {
		t.Fatalf("%d nodes, %v", len(all), err)
	}
	if n := all[40]; n.Name != "n40" || n.Status.NodeInfo.KubeletVersion != "v1.36.3" || n.Status.Images != nil || n.ManagedFields != nil {
		t.Errorf("%+v", n)
	}
}

func TestPatchChangesOnlyWhatDiffers(t *testing.T) {
	api, c := serve(t)
	put(api, "n1", map[string]any{"stays": "1", "goes": "1"})
	all, err := List(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	stored, err := Patch(t.Context(), c, all[0], func(n *corev1.Node) {
		delete(n.Annotations, "goes")
		n.Labels = map[string]string{"new": ""}
		n.Finalizers = nil
		n.Spec.Unschedulable = true
	})
	if err != nil {
		t.Fatal(err)
	}
	meta := api.Object("/api/v1/nodes/n1")["metadata"].(map[string]any)
	if meta["annotations"].(map[string]any)["stays"] != "1" || len(meta["annotations"].(map[string]any)) != 1 || meta["finalizers"] != nil || meta["managedFields"] == nil || !stored.Spec.Unschedulable || stored.Labels["new"] != "" {
		t.Errorf("%v; %+v", meta, stored)
	}
	writes := len(api.Writes())
	if _, err := Patch(t.Context(), c, stored, func(*corev1.Node) {}); err != nil || len(api.Writes()) != writes {
		t.Errorf("no change: %v, %q", err, api.Writes()[writes:])
	}
}

func TestPatchThatWasStoredWithoutAnAnswerSucceeds(t *testing.T) {
	api, c := serve(t)
	put(api, "n1", nil)
	all, err := List(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	lost := false
	api.Before = func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPatch || lost {
			return false
		}
		lost = true
		put(api, "n1", map[string]any{profile.DataAnnotation: "ours"})
		w.WriteHeader(http.StatusServiceUnavailable)
		return true
	}
	stored, err := Patch(t.Context(), c, all[0], func(n *corev1.Node) { n.Annotations = map[string]string{profile.DataAnnotation: "ours"} })
	if err != nil || !lost || stored.Annotations[profile.DataAnnotation] != "ours" {
		t.Errorf("%+v, %v", stored, err)
	}
}
