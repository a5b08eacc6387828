package drain

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// budgetsOf returns the disruption budgets that select a pod.
func budgetsOf(pod *corev1.Pod, all []policyv1.PodDisruptionBudget) []policyv1.PodDisruptionBudget {
	var out []policyv1.PodDisruptionBudget
	for _, b := range all {
		selector, err := v1.LabelSelectorAsSelector(b.Spec.Selector)
		if b.Namespace == pod.Namespace && err == nil && selector.Matches(labels.Set(pod.Labels)) {
			out = append(out, b)
		}
	}
	return out
}

// blockingBudget returns the name of a disruption budget that blocks the eviction of a
// pod now; empty without one.
func blockingBudget(pod *corev1.Pod, all []policyv1.PodDisruptionBudget) string {
	found := budgetsOf(pod, all)
	if len(found) > 1 {
		return fmt.Sprintf("it falls under %d PodDisruptionBudgets (%s and %s), which evictions do not support", len(found), budgetName(found[0]), budgetName(found[1]))
	}
	for _, b := range found {
		if b.Status.DisruptionsAllowed == 0 {
			return fmt.Sprintf("PodDisruptionBudget %s allows no disruption now: %d of %d pods are healthy, %d must be",
				budgetName(b), b.Status.CurrentHealthy, b.Status.ExpectedPods, b.Status.DesiredHealthy)
		}
	}
	return ""
}

// impossibleBudget returns the name of a disruption budget that never allows the eviction
// of a pod, however healthy the other pods are; empty without one.
func impossibleBudget(pod *corev1.Pod, all []policyv1.PodDisruptionBudget) string {
	found := budgetsOf(pod, all)
	if len(found) > 1 {
		return blockingBudget(pod, all)
	}
	for _, b := range found {
		if neverAllows(b) {
			return fmt.Sprintf("PodDisruptionBudget %s never allows a disruption: all %d pods must be healthy", budgetName(b), b.Status.ExpectedPods)
		}
	}
	return ""
}

// neverAllows reports whether a budget wants all its pods to be healthy.
func neverAllows(b policyv1.PodDisruptionBudget) bool {
	return b.Status.DisruptionsAllowed == 0 && b.Status.ExpectedPods > 0 && b.Status.DesiredHealthy >= b.Status.ExpectedPods
}

func budgetName(b policyv1.PodDisruptionBudget) string { return b.Namespace + "/" + b.Name }
