package kube

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestNodeProblems(t *testing.T) {
	node := func(name string, cordoned bool, conditions ...corev1.NodeCondition) corev1.Node {
		return corev1.Node{ObjectMeta: v1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{Unschedulable: cordoned}, Status: corev1.NodeStatus{Conditions: conditions}}
	}
	ready := corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Message: "kubelet is posting ready status"}
	fine := corev1.NodeCondition{Type: corev1.NodeDiskPressure, Status: corev1.ConditionFalse, Message: "kubelet has no disk pressure"}
	full := corev1.NodeCondition{Type: corev1.NodeDiskPressure, Status: corev1.ConditionTrue, Message: "kubelet has disk pressure"}
	silent := corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionUnknown, Message: "Kubelet stopped posting node status."}
	nodes := []corev1.Node{
		node("m1", false, fine, ready), node("m2", true, fine, ready), node("n1", false, full, ready), node("n2", true, full, silent),
		node("n3", false, full, ready), node("n4", false, full, ready), node("n5", false, full, ready), node("n6", false, full, ready), node("n7", false, full),
	}
	want := []string{
		"node m2, n2: cordoned",
		"node n1, n2, n3, n4, n5 and 2 more: DiskPressure is True: kubelet has disk pressure",
		"node n2: Ready is Unknown: Kubelet stopped posting node status.",
	}
	if diff := cmp.Diff(want, nodeProblems(nodes)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := nodeProblems(nodes[:1]); len(got) > 0 {
		t.Errorf("a healthy node: %q", got)
	}
}
