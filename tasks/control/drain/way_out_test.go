package drain

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestWayOutOfABudget: a pod that serves nobody is named with the policy that lets it go, and is not
// blocked by a budget that has it.
func TestWayOutOfABudget(t *testing.T) {
	t.Parallel()
	pod := func(ready corev1.ConditionStatus) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: v1.ObjectMeta{Namespace: "default", Labels: map[string]string{"app": "web"}},
			Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}}}
	}
	budget := func(policy policyv1.UnhealthyPodEvictionPolicyType) []policyv1.PodDisruptionBudget {
		b := policyv1.PodDisruptionBudget{ObjectMeta: v1.ObjectMeta{Namespace: "default", Name: "web"},
			Spec:   policyv1.PodDisruptionBudgetSpec{Selector: &v1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}},
			Status: policyv1.PodDisruptionBudgetStatus{CurrentHealthy: 0, DesiredHealthy: 1, ExpectedPods: 2}}
		if policy != "" {
			b.Spec.UnhealthyPodEvictionPolicy = &policy
		}
		return []policyv1.PodDisruptionBudget{b}
	}
	for name, tt := range map[string]struct {
		pod     *corev1.Pod
		budgets []policyv1.PodDisruptionBudget
		blocked bool
		hint    bool
	}{
		"not ready":               {pod(corev1.ConditionFalse), budget(""), true, true},
		"not ready, IfHealthy":    {pod(corev1.ConditionFalse), budget(policyv1.IfHealthyBudget), true, true},
		"not ready, AlwaysAllow":  {pod(corev1.ConditionFalse), budget(policyv1.AlwaysAllow), false, false},
		"ready":                   {pod(corev1.ConditionTrue), budget(""), true, false},
		"ready, with AlwaysAllow": {pod(corev1.ConditionTrue), budget(policyv1.AlwaysAllow), true, false},
	} {
		why := blockingBudget(tt.pod, tt.budgets)
		if (why != "") != tt.blocked || strings.Contains(why, "unhealthyPodEvictionPolicy: AlwaysAllow") != tt.hint {
			t.Errorf("%s: %q", name, why)
		}
	}
}

// TestPodsThatNoBudgetHolds: pods that a budget never allows to leave may do so all the same when
// they are not Ready and the budget says so, or when the API server asks no budget.
func TestPodsThatNoBudgetHolds(t *testing.T) {
	t.Parallel()
	always := policyv1.AlwaysAllow
	budget := policyv1.PodDisruptionBudget{ObjectMeta: v1.ObjectMeta{Namespace: "default", Name: "web"},
		Spec:   policyv1.PodDisruptionBudgetSpec{Selector: &v1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}},
		Status: policyv1.PodDisruptionBudgetStatus{DesiredHealthy: 1, ExpectedPods: 1}}
	open := budget
	open.Spec.UnhealthyPodEvictionPolicy = &always
	pod := func(phase corev1.PodPhase, ready corev1.ConditionStatus) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: v1.ObjectMeta{Namespace: "default", Labels: map[string]string{"app": "web"}},
			Status: corev1.PodStatus{Phase: phase, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}}}
	}
	deleted := pod(corev1.PodRunning, corev1.ConditionTrue)
	deleted.DeletionTimestamp = &v1.Time{Time: time.Now()}
	for name, tt := range map[string]struct {
		pod     *corev1.Pod
		budgets []policyv1.PodDisruptionBudget
		held    bool
		hint    bool
	}{
		"ready":                         {pod(corev1.PodRunning, corev1.ConditionTrue), []policyv1.PodDisruptionBudget{open}, true, false},
		"not ready":                     {pod(corev1.PodRunning, corev1.ConditionFalse), []policyv1.PodDisruptionBudget{budget}, true, true},
		"not ready, AlwaysAllow":        {pod(corev1.PodRunning, corev1.ConditionFalse), []policyv1.PodDisruptionBudget{open}, false, false},
		"not started":                   {pod(corev1.PodPending, corev1.ConditionFalse), []policyv1.PodDisruptionBudget{budget}, false, false},
		"not started, under two":        {pod(corev1.PodPending, corev1.ConditionFalse), []policyv1.PodDisruptionBudget{budget, open}, false, false},
		"ready, under two":              {pod(corev1.PodRunning, corev1.ConditionTrue), []policyv1.PodDisruptionBudget{budget, open}, true, false},
		"it is being deleted":           {deleted, []policyv1.PodDisruptionBudget{budget}, false, false},
		"it has ended":                  {pod(corev1.PodFailed, corev1.ConditionFalse), []policyv1.PodDisruptionBudget{budget}, false, false},
		"of an application without one": {pod(corev1.PodRunning, corev1.ConditionTrue), nil, false, false},
	} {
		for _, rule := range []func(*corev1.Pod, []policyv1.PodDisruptionBudget) string{blockingBudget, impossibleBudget} {
			if why := rule(tt.pod, tt.budgets); (why != "") != tt.held || strings.Contains(why, "unhealthyPodEvictionPolicy: AlwaysAllow") != tt.hint {
				t.Errorf("%s: %q", name, why)
			}
		}
	}
}

// TestFinalizersAreNamed: only those that Kubernetes does not remove itself.
func TestFinalizersAreNamed(t *testing.T) {
	t.Parallel()
	for want, finalizers := range map[string][]string{
		"": {"batch.kubernetes.io/job-tracking"},
		"it stays until its finalizers are removed: lund.example/hold": {"batch.kubernetes.io/job-tracking", "lund.example/hold"},
	} {
		if got := held(&corev1.Pod{ObjectMeta: v1.ObjectMeta{Finalizers: finalizers}}); got != want {
			t.Errorf("%q: %q, want %q", finalizers, got, want)
		}
	}
}
