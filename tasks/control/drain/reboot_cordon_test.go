package drain

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"deployer/tasks/control/kube"
	"deployer/tasks/control/kube/kubetest"
)

func TestRebooted(t *testing.T) {
	t.Parallel()
	const mark = `{"id":"a1","since":"2026-11-28T10:00:00Z"}`
	owned := func(manager string) []metav1.ManagedFieldsEntry {
		return []metav1.ManagedFieldsEntry{{Manager: manager, FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:unschedulable":{}}}`)}}
	}
	for name, c := range map[string]struct {
		change func(*corev1.Node)
		want   Rebooted
	}{
		"Ready in this boot":             {func(*corev1.Node) {}, Uncordoned},
		"a report of the earlier boot":   {func(n *corev1.Node) { n.Status.NodeInfo.BootID = "before" }, NotReady},
		"not Ready yet":                  {func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionFalse }, NotReady},
		"no report yet":                  {func(n *corev1.Node) { n.Status = corev1.NodeStatus{} }, NotReady},
		"uncordoned by somebody":         {func(n *corev1.Node) { n.Spec.Unschedulable = false }, NotOurs},
		"cordoned by somebody since":     {func(n *corev1.Node) { n.ManagedFields = owned("kubectl-cordon") }, NotOurs},
		"cordoned by this host":          {func(n *corev1.Node) { n.ManagedFields = owned(kube.Manager) }, Uncordoned},
		"drained by deployer since":      {func(n *corev1.Node) { n.Annotations[annotation] = `{"run":"r1"}` }, NotOurs},
		"another shutdown":               {func(n *corev1.Node) { n.Annotations[RebootAnnotation] = `{"id":"b2"}` }, NotOurs},
		"a mark that somebody changed":   {func(n *corev1.Node) { n.Annotations[RebootAnnotation] = `yes` }, NotOurs},
		"without a mark, a new Node":     {func(n *corev1.Node) { n.Annotations = nil }, NotOurs},
		"a mark of nobody's id, no mark": {func(n *corev1.Node) { n.Annotations[RebootAnnotation] = `{}` }, NotOurs},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			node := &corev1.Node{
				ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{RebootAnnotation: mark}},
				Spec:       corev1.NodeSpec{Unschedulable: true},
				Status: corev1.NodeStatus{NodeInfo: corev1.NodeSystemInfo{BootID: "now"},
					Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
			}
			c.change(node)
			if got := rebooted(node, "a1", "now"); got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}

// TestCordonForReboot: the node goes down twice without coming up, and is uncordoned once.
func TestCordonForReboot(t *testing.T) {
	t.Parallel()
	api := &kubetest.API{}
	c := serve(t, api)
	for _, id := range []string{"a1", "b2"} {
		if done, err := CordonForReboot(t.Context(), c, "n1", RebootMark{ID: id, Since: time.Now()}); err != nil || !done || state(api, "n1") != "cordoned" {
			t.Fatalf("%s: %t, %v, n1 is %s", id, done, err, state(api, "n1"))
		}
	}
	if found, err := UncordonAfterReboot(t.Context(), c, "n1", "a1", ""); err != nil || found != NotOurs || state(api, "n1") != "cordoned" {
		t.Errorf("an old id: %d, %v, n1 is %s", found, err, state(api, "n1"))
	}
	if found, err := UncordonAfterReboot(t.Context(), c, "n1", "b2", ""); err != nil || found != Uncordoned || state(api, "n1") != "open" {
		t.Errorf("%d, %v, n1 is %s", found, err, state(api, "n1"))
	}
	if annotations := api.Object("/api/v1/nodes/n1")["metadata"].(map[string]any)["annotations"]; len(annotations.(map[string]any)) > 0 {
		t.Errorf("annotations are left: %v", annotations)
	}
}

func TestCordonForRebootOfACordonedNode(t *testing.T) {
	t.Parallel()
	for name, mark := range map[string]string{"by a person": "", "by deployer": `{"run":"r1"}`} {
		api := &kubetest.API{}
		c := serve(t, api)
		cordonBy(api, mark)
		before := state(api, "n1")
		if done, err := CordonForReboot(t.Context(), c, "n1", RebootMark{ID: "a1"}); err != nil || done || state(api, "n1") != before {
			t.Errorf("%s: %t, %v, n1 is %s", name, done, err, state(api, "n1"))
		}
	}
}

// TestDrainTakesARebootOver: a run that drains a node whose host has just booted owns its cordon from
// then on, so that the host does not uncordon it in the middle of the run.
func TestDrainTakesARebootOver(t *testing.T) {
	t.Parallel()
	y := newTestCluster(t, false)
	c := serve(t, y.api)
	if done, err := CordonForReboot(t.Context(), c, "n1", RebootMark{ID: "a1"}); err != nil || !done {
		t.Fatal(done, err)
	}
	if change, _, err := y.do(t, NewUncordonAction()); err != nil || change.Needed || state(y.api, "n1") != "cordoned" {
		t.Errorf("uncordon: %+v, %v, n1 is %s", change, err, state(y.api, "n1"))
	}
	if change, _, err := y.do(t, NewAction()); err != nil || !change.Needed || state(y.api, "n1") != "cordoned, marked" {
		t.Errorf("drain: %+v, %v, n1 is %s", change, err, state(y.api, "n1"))
	}
	if found, err := UncordonAfterReboot(t.Context(), c, "n1", "a1", ""); err != nil || found != NotOurs || state(y.api, "n1") != "cordoned, marked" {
		t.Errorf("after the drain: %d, %v, n1 is %s", found, err, state(y.api, "n1"))
	}
}
