package kube

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"deployer/tasks/control/kube/kubetest"
)

var master = corev1.Taint{Key: "node-role.kubernetes.io/control-plane", Effect: corev1.TaintEffectNoSchedule}

func putNode(t *testing.T, api *kubetest.API, node corev1.Node) {
	t.Helper()
	node.APIVersion, node.Kind = "v1", "Node"
	o, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&node)
	if err != nil {
		t.Fatal(err)
	}
	api.Put("/api/v1/nodes/"+node.Name, o)
}

func readNode(t *testing.T, c *Client, name string) *corev1.Node {
	t.Helper()
	node, err := GetNode(context.Background(), c, name)
	if err != nil {
		t.Fatal(err)
	}
	return node
}

func TestNodePatchSetsAndRemovesLabelsAndTaintsOfTheInventory(t *testing.T) {
	api := &kubetest.API{}
	c := serve(t, api)
	ctx := context.Background()
	var n corev1.Node
	n.Name = "n1"
	n.Labels = map[string]string{"kubernetes.io/hostname": "n1", "rack": "old"}
	n.Spec.Taints = []corev1.Taint{{Key: "node.kubernetes.io/not-ready", Effect: corev1.TaintEffectNoSchedule}}
	putNode(t, api, n)

	wish := NodeSpec{Labels: map[string]string{"rack": "r1", "disk": "ssd"}, Taints: []corev1.Taint{master}, PodCIDR: "10.244.3.0/24"}
	if err := UpdateNode(ctx, c, "n1", wish); err != nil {
		t.Fatal(err)
	}
	got := readNode(t, c, "n1")
	if diff := cmp.Diff(map[string]string{"kubernetes.io/hostname": "n1", "rack": "r1", "disk": "ssd"}, got.Labels); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]corev1.Taint{n.Spec.Taints[0], master}, got.Spec.Taints); diff != "" {
		t.Error(diff)
	}
	if got.Spec.PodCIDR != "10.244.3.0/24" || len(got.Spec.PodCIDRs) != 1 {
		t.Errorf("pod range %q %v", got.Spec.PodCIDR, got.Spec.PodCIDRs)
	}
	if patch, effects, err := NodePatch(got, wish); patch != nil || err != nil {
		t.Errorf("a second time: %s %v %v", patch, effects, err)
	}

	if patch, _, err := NodePatch(got, NodeSpec{}); patch != nil || err != nil {
		t.Errorf("an empty NodeSpec has the patch %s %v", patch, err)
	}
	if err := UpdateNode(ctx, c, "n1", NodeSpec{Labels: map[string]string{"disk": "ssd"}, Taints: []corev1.Taint{}}); err != nil {
		t.Fatal(err)
	}
	got = readNode(t, c, "n1")
	if diff := cmp.Diff(map[string]string{"kubernetes.io/hostname": "n1", "disk": "ssd"}, got.Labels); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(n.Spec.Taints, got.Spec.Taints); diff != "" {
		t.Error(diff)
	}
}

func TestNodePatchFailsWhenThePodRangeDiffers(t *testing.T) {
	var n corev1.Node
	n.Name, n.Spec.PodCIDR = "n1", "10.244.1.0/24"
	_, _, err := NodePatch(&n, NodeSpec{PodCIDR: "10.244.2.0/24"})
	if err == nil || !strings.Contains(err.Error(), "node n1 has the pod range 10.244.1.0/24 instead of 10.244.2.0/24") {
		t.Errorf("got %v", err)
	}
}

// TestFurtherPodRangeIsRecorded: Kubernetes sets the ranges of a node once, so a node that has one
// gets the other as an annotation; a new node gets both.
func TestFurtherPodRangeIsRecorded(t *testing.T) {
	api := &kubetest.API{}
	c := serve(t, api)
	ctx := t.Context()
	for name, one := range map[string]struct {
		has        []string
		want       []string
		annotation string
	}{
		"new":    {nil, []string{"10.244.1.0/24", "fd00:1::/64"}, ""},
		"both":   {[]string{"10.244.1.0/24", "fd00:1::/64"}, []string{"10.244.1.0/24", "fd00:1::/64"}, ""},
		"single": {[]string{"10.244.1.0/24"}, []string{"10.244.1.0/24"}, "fd00:1::/64"},
	} {
		var n corev1.Node
		n.Name, n.Spec.PodCIDRs = name, one.has
		if len(one.has) > 0 {
			n.Spec.PodCIDR = one.has[0]
		}
		putNode(t, api, n)
		wish := NodeSpec{PodCIDR: "10.244.1.0/24,fd00:1::/64"}
		if err := UpdateNode(ctx, c, name, wish); err != nil {
			t.Fatal(err)
		}
		got := readNode(t, c, name)
		if diff := cmp.Diff(one.want, got.Spec.PodCIDRs); diff != "" || got.Annotations[PodRangeAnnotation] != one.annotation {
			t.Errorf("%s: annotation %q, %s", name, got.Annotations[PodRangeAnnotation], diff)
		}
		if ranges := PodRangesOf(got); ranges != wish.PodCIDR {
			t.Errorf("%s has the ranges %s", name, ranges)
		}
		if patch, effects, err := NodePatch(got, wish); patch != nil || err != nil {
			t.Errorf("%s, a second time: %s %v %v", name, patch, effects, err)
		}
		if _, _, err := NodePatch(got, NodeSpec{PodCIDR: "10.244.1.0/24,fd00:1:0:9::/64"}); err == nil || !strings.Contains(err.Error(), "fd00:1::/64 instead of fd00:1:0:9::/64") {
			t.Errorf("%s, another range: %v", name, err)
		}
	}
}

func TestUpdateNodeRetriesAConflict(t *testing.T) {
	api := &kubetest.API{}
	c := serve(t, api)
	var n corev1.Node
	n.Name = "n1"
	putNode(t, api, n)
	races := 2
	api.Before = func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPatch && races > 0 {
			races--
			putNode(t, api, n) // a new resourceVersion
		}
		return false
	}
	if err := UpdateNode(context.Background(), c, "n1", NodeSpec{Labels: map[string]string{"a": "b"}}); err != nil {
		t.Fatal(err)
	}
	if got := readNode(t, c, "n1"); got.Labels["a"] != "b" || races != 0 {
		t.Errorf("labels %v", got.Labels)
	}
}

func TestNodePatchContainsTheResourceVersion(t *testing.T) {
	var n corev1.Node
	n.Name, n.ResourceVersion = "n1", "7"
	patch, _, err := NodePatch(&n, NodeSpec{Labels: map[string]string{"a": "b"}})
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Metadata struct{ ResourceVersion string }
	}
	if err := json.Unmarshal(patch, &got); err != nil || got.Metadata.ResourceVersion != "7" {
		t.Errorf("%s", patch)
	}
}

func TestWaitNodeWaitsUntilTheNodeExists(t *testing.T) {
	api := &kubetest.API{}
	c := serve(t, api)
	said := make(chan string, 1)
	go func() {
		<-said
		var n corev1.Node
		n.Name = "n1"
		putNode(t, api, n)
	}()
	node, err := WaitNode(context.Background(), c, "n1", 10*time.Second, func(text string) { said <- text })
	if err != nil || node.Name != "n1" {
		t.Errorf("got %v, %v", node, err)
	}
	if _, err := WaitNode(context.Background(), c, "n2", time.Second, silent); err == nil || !strings.Contains(err.Error(), "timeout after 1s: there is no such node") {
		t.Errorf("got %v", err)
	}
}

func TestWaitReadyNamesTheNodesThatAreNot(t *testing.T) {
	api := &kubetest.API{}
	c := serve(t, api)
	for _, name := range []string{"n1", "n2"} {
		var n corev1.Node
		n.Name = name
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
		if name == "n2" {
			n.Status.Conditions[0] = corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionFalse, Reason: "KubeletNotReady", Message: "cni plugin not initialized"}
		}
		putNode(t, api, n)
	}
	ctx := context.Background()
	if err := WaitReady(ctx, c, []string{"n1"}, 1, time.Second, silent); err != nil {
		t.Error(err)
	}
	err := WaitReady(ctx, c, []string{"n1", "n2", "n3"}, 1, 2*time.Second, silent)
	want := "waiting for nodes: timeout after 2s: 2 of 3 nodes are not Ready: n2 (KubeletNotReady cni plugin not initialized), n3 (there is no such node)"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	if err := WaitReady(ctx, c, []string{"n1", "n2"}, 0.5, time.Second, silent); err != nil {
		t.Errorf("half of them: %v", err)
	}
}
