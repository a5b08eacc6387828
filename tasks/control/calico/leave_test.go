package calico

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"deployer/tasks/control/calico/datastore"
)

// leavingCluster is a cluster with two nodes on Calico, of which n1 has an empty block in the range of m1.
func leavingCluster(t *testing.T) *fakeAPI {
	t.Helper()
	api := newFakeAPI(t, resolved(t), "m1", "n1")
	api.putNode("m1", "10.244.0.0/25", map[string]any{datastore.Address: "10.0.0.1/24"})
	api.putNode("n1", "10.244.1.0/26", map[string]any{datastore.Address: "10.0.0.4/24"})
	api.put(object("IPPool", "default-ipv4-ippool", map[string]any{"cidr": "10.244.0.0/16", "blockSize": int64(26)}))
	for block, node := range map[string]string{"10.244.0.0/26": "m1", "10.244.0.64/26": "n1", "10.244.1.0/26": "n1", "10.244.9.0/26": "n1"} {
		api.put(blockObjects(node, netip.MustParsePrefix(block))...)
	}
	api.Put("/apis/apps/v1/namespaces/kube-system/deployments/"+controllers, map[string]any{"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"name": controllers, "namespace": "kube-system"}, "spec": map[string]any{"replicas": 1}})
	api.Put("/api/v1/namespaces/kube-system", map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "kube-system"}})
	return api
}

func TestLeaveBegins(t *testing.T) {
	api := leavingCluster(t)
	effects, out := api.run(t, &Leave{Stage: stageBegin})
	want := []string{
		"IPAMBlock 10.244.0.64/26: give to node m1", "IPAMBlock 10.244.0.64/26: take from node n1",
		"IPAMConfig default: create", "Deployment kube-system/calico-kube-controllers: end its pods",
	}
	if diff := cmp.Diff(want, effects); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]any{"n1": []any{"10.244.9.0/26"}}, out["blocks"]); diff != "" {
		t.Errorf("blocks outside of the ranges: %s", diff)
	}
	affinity, _, _ := unstructured.NestedString(api.object("IPAMBlock", "10-244-0-64-26"), "spec", "affinity")
	if affinity != "host:m1" || api.object("BlockAffinity", "n1-10-244-0-64-26") != nil || api.object("BlockAffinity", "m1-10-244-0-64-26") == nil {
		t.Errorf("the block is of %q; objects %v", affinity, api.Paths())
	}
	writes := api.Writes()
	at := func(text string) int {
		return slices.IndexFunc(writes, func(w string) bool { return strings.Contains(w, text) })
	}
	if limited, taken := at("/ipamconfigs/default"), at("DELETE"); limited < 0 || limited > taken {
		t.Errorf("nodes may take blocks while they change: %q", writes)
	}
	if effects, _ := api.run(t, &Leave{Stage: stageBegin}); effects != nil {
		t.Errorf("again: %q", effects)
	}
}

// TestLeaveSparesAddresses: a block that got an address after the check stays.
func TestLeaveSparesAddresses(t *testing.T) {
	api := leavingCluster(t)
	leave := &Leave{Stage: stageBegin}
	change, err := leave.Check(t.Context(), api.actx)
	if err != nil {
		t.Fatal(err)
	}
	used := blockObjects("n1", netip.MustParsePrefix("10.244.0.64/26"))[0]
	if err := unstructured.SetNestedSlice(used.Object, []any{nil, int64(0)}, "spec", "allocations"); err != nil {
		t.Fatal(err)
	}
	api.put(used)
	if _, err := leave.Apply(t.Context(), api.actx, change); err == nil || !strings.Contains(err.Error(), "10-244-0-64-26, which is in the range of another node, has addresses in use") {
		t.Errorf("%v", err)
	}
	if api.object("IPAMBlock", "10-244-0-64-26") == nil {
		t.Error("the block was removed")
	}
}

// TestLeaveWaitsForTheAPI: the cluster has an API, so a dry run waits for it as well.
func TestLeaveWaitsForTheAPI(t *testing.T) {
	api := leavingCluster(t)
	api.actx.Check = true
	api.down.Store(2)
	change, err := (&Leave{Stage: stageBegin}).Check(t.Context(), api.actx)
	if err != nil || !change.Needed {
		t.Errorf("needed %v, %v", change.Needed, err)
	}
}

func TestLeaveOfNodes(t *testing.T) {
	api := leavingCluster(t)
	api.putNode("m1", "10.244.0.0/25", nil)
	_, out := api.run(t, &Leave{Stage: stageNodes})
	if diff := cmp.Diff([]any{"n1"}, out["left"]); diff != "" {
		t.Error(diff)
	}
	api.putNode("n1", "10.244.1.0/26", nil)
	_, out = api.run(t, &Leave{Stage: stageNodes})
	if diff := cmp.Diff([]any{"to_n1"}, out["sessions"].(map[string]any)["m1"]); diff != "" || len(out["left"].([]any)) > 0 {
		t.Errorf("left %v, sessions of m1: %s", out["left"], diff)
	}
}

func TestLeaveEnds(t *testing.T) {
	api := leavingCluster(t)
	definition := func(name, group string) string {
		path := "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/" + name
		api.Put(path, map[string]any{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": name}, "spec": map[string]any{"group": group}})
		return path
	}
	ours, other := definition("ippools.crd.projectcalico.org", "crd.projectcalico.org"), definition("teapots.example.org", "example.org")
	secret := "/api/v1/namespaces/kube-system/secrets/" + passwordSecret
	api.Put(secret, secretOf(map[string]string{passwordKeys + "tor.1": "x"}).Object)
	api.run(t, &Leave{Stage: stageEnd})
	if api.Object(ours) != nil || api.Object(secret) != nil || api.Object(other) == nil {
		t.Errorf("objects %v", api.Paths())
	}
	if annotations, _, _ := unstructured.NestedMap(api.Object("/api/v1/nodes/n1"), "metadata", "annotations"); len(annotations) > 0 {
		t.Errorf("annotations of n1: %v", annotations)
	}
	if effects, _ := api.run(t, &Leave{Stage: stageEnd}); effects != nil {
		t.Errorf("again: %q", effects)
	}
}

func TestLeavingPatch(t *testing.T) {
	annotations := map[string]string{datastore.Address: "10.0.0.1/24", datastore.ClusterID: "10.0.0.1", "mine": "x"}
	labels := map[string]string{reflectorLabel: "m1", clientPrefix + "m2": "true", routerPrefix + "edge": "ab", "mine": "x"}
	want := map[string]any{"metadata": map[string]any{
		"annotations": map[string]any{datastore.Address: nil, datastore.ClusterID: nil},
		"labels":      map[string]any{reflectorLabel: nil, clientPrefix + "m2": nil, routerPrefix + "edge": nil},
	}}
	if diff := cmp.Diff(want, leavingPatch(annotations, labels)); diff != "" {
		t.Error(diff)
	}
	if got := leavingPatch(map[string]string{"mine": "x"}, map[string]string{"mine": "x"}); got != nil {
		t.Errorf("a patch of a node without Calico: %v", got)
	}
	want = map[string]any{"metadata": map[string]any{"annotations": map[string]any{datastore.Address: nil}}}
	if diff := cmp.Diff(want, endedPatch(annotations)); diff != "" {
		t.Error(diff)
	}
	if got := endedPatch(map[string]string{datastore.ClusterID: "10.0.0.1"}); got != nil {
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
