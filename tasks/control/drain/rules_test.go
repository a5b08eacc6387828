package drain

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestPodActionFollowsKubectlDrain compares the actions with the rules of kubectl drain.
func TestPodActionFollowsKubectlDrain(t *testing.T) {
	t.Parallel()
	now := time.Now()
	controller := func(kind string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			yes := true
			p.OwnerReferences = []v1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: kind, Controller: &yes}}
		}
	}
	emptyDir := func(p *corev1.Pod) {
		p.Spec.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
	}
	over := func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }
	mirror := func(p *corev1.Pod) { p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"} }
	ending := func(p *corev1.Pod) { p.DeletionTimestamp = &v1.Time{Time: now.Add(-time.Minute)} }
	type pod = []func(*corev1.Pod)
	for name, c := range map[string]struct {
		pod  pod
		o    Options
		gone bool // the DaemonSet is
		want podAction
		why  string
	}{
		"of a ReplicaSet":                             {pod{controller("ReplicaSet")}, Options{}, false, evict, ""},
		"of a DaemonSet":                              {pod{controller("DaemonSet")}, Options{Force: true}, false, leave, ""},
		"of a DaemonSet that is gone":                 {pod{controller("DaemonSet")}, Options{}, true, refuse, "force"},
		"of a DaemonSet that is gone, with force":     {pod{controller("DaemonSet")}, Options{Force: true}, true, evict, ""},
		"of a DaemonSet, completed":                   {pod{controller("DaemonSet"), over}, Options{}, false, evict, ""},
		"static pod":                                  {pod{mirror}, Options{Force: true}, false, leave, ""},
		"static pod with an emptyDir":                 {pod{mirror, emptyDir}, Options{}, false, leave, ""},
		"with an emptyDir":                            {pod{controller("ReplicaSet"), emptyDir}, Options{}, false, refuse, "delete_emptydir_data"},
		"with an emptyDir, with delete_emptydir_data": {pod{controller("ReplicaSet"), emptyDir}, Options{DeleteEmptyDirData: true}, false, evict, ""},
		"with an emptyDir, completed":                 {pod{emptyDir, over}, Options{}, false, evict, ""},
		"without a controller":                        {pod{}, Options{}, false, refuse, "force"},
		"without a controller, with force":            {pod{}, Options{Force: true}, false, evict, ""},
		"without a controller, with an emptyDir":      {pod{emptyDir}, Options{Force: true}, false, refuse, "delete_emptydir_data"},
		"without a controller, completed":             {pod{over}, Options{}, false, evict, ""},
		"a test pod of verify":                        {pod{func(p *corev1.Pod) { p.Labels = map[string]string{"deployer/verify": "probe"} }}, Options{}, false, evict, ""},
		"ending for long":                             {pod{ending}, Options{SkipWaitForDelete: 30 * time.Second}, false, leave, ""},
		"ending, not for so long":                     {pod{controller("ReplicaSet"), ending}, Options{SkipWaitForDelete: 2 * time.Minute}, false, evict, ""},
		"ending, and all are waited for":              {pod{controller("ReplicaSet"), ending}, Options{}, false, evict, ""},
		"static, of a dead kubelet":                   {pod{mirror, ending}, Options{}, false, leave, ""},
		"of a DaemonSet, with a emptyDir":             {pod{controller("DaemonSet"), emptyDir}, Options{}, false, leave, ""},
	} {
		p := &corev1.Pod{}
		for _, f := range c.pod {
			f(p)
		}
		got, why := c.o.decide(p, now, func(*corev1.Pod, string) bool { return !c.gone })
		if got != c.want || !strings.Contains(why, c.why) || c.why == "" && why != "" {
			t.Errorf("%s: %v %q, want %v %q", name, got, why, c.want, c.why)
		}
	}
}

func TestBlockingBudgets(t *testing.T) {
	t.Parallel()
	pod := &corev1.Pod{}
	pod.Namespace, pod.Labels = "default", map[string]string{"app": "web"}
	budget := func(namespace, name string, allowed int32, selector *v1.LabelSelector) policyv1.PodDisruptionBudget {
		b := policyv1.PodDisruptionBudget{Spec: policyv1.PodDisruptionBudgetSpec{Selector: selector}}
		b.Namespace, b.Name = namespace, name
		b.Status = policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: allowed, CurrentHealthy: 2, DesiredHealthy: 2, ExpectedPods: 3}
		return b
	}
	web := &v1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	for name, c := range map[string]struct {
		budgets []policyv1.PodDisruptionBudget
		want    string
	}{
		"none":                 {nil, ""},
		"allows":               {[]policyv1.PodDisruptionBudget{budget("default", "a", 1, web)}, ""},
		"forbids":              {[]policyv1.PodDisruptionBudget{budget("default", "a", 0, web)}, "PodDisruptionBudget default/a allows no disruption now: 2 of 3 pods are healthy, 2 must be"},
		"of other pods":        {[]policyv1.PodDisruptionBudget{budget("default", "a", 0, &v1.LabelSelector{MatchLabels: map[string]string{"app": "db"}})}, ""},
		"of another namespace": {[]policyv1.PodDisruptionBudget{budget("other", "a", 0, web)}, ""},
		"of all pods":          {[]policyv1.PodDisruptionBudget{budget("default", "a", 0, &v1.LabelSelector{})}, "default/a allows no"},
		"of no pods":           {[]policyv1.PodDisruptionBudget{budget("default", "a", 0, nil)}, ""},
		"two that allow":       {[]policyv1.PodDisruptionBudget{budget("default", "a", 1, web), budget("default", "b", 1, web)}, "under 2 PodDisruptionBudgets (default/a and default/b)"},
	} {
		if got := blockingBudget(pod, c.budgets); !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestCordonOf(t *testing.T) {
	t.Parallel()
	owned := func(manager string) v1.ManagedFieldsEntry {
		raw, _ := json.Marshal(map[string]any{"f:spec": map[string]any{"f:unschedulable": map[string]any{}}})
		return v1.ManagedFieldsEntry{Manager: manager, FieldsV1: v1.NewFieldsV1(string(raw))}
	}
	for name, c := range map[string]struct {
		unschedulable, marked bool
		fields                []v1.ManagedFieldsEntry
		want                  Cordon
	}{
		"takes pods":                     {false, false, nil, Open},
		"takes pods, with an old mark":   {false, true, nil, Open},
		"cordoned":                       {true, false, nil, Foreign},
		"cordoned and marked":            {true, true, nil, Ours},
		"by us, as the API knows":        {true, true, []v1.ManagedFieldsEntry{{Manager: "kubelet"}, owned("deployer")}, Ours},
		"by somebody else, an old mark":  {true, true, []v1.ManagedFieldsEntry{owned("kubectl-cordon")}, Foreign},
		"by somebody else, without mark": {true, false, []v1.ManagedFieldsEntry{owned("deployer")}, Foreign},
	} {
		n := &corev1.Node{}
		n.Spec.Unschedulable, n.ManagedFields = c.unschedulable, c.fields
		if c.marked {
			n.Annotations = map[string]string{annotation: "{}"}
		}
		if got := CordonOf(n); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
