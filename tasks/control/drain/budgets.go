package drain

import (
	"fmt"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// budgetsOf returns the disruption budgets that select a pod. It returns none for a pod that has not
// started, has ended or is being deleted, because its eviction asks no budget (kubernetes
// pkg/registry/core/pod/storage/eviction.go, canIgnorePDB).
func budgetsOf(pod *corev1.Pod, all []policyv1.PodDisruptionBudget) []policyv1.PodDisruptionBudget {
	var out []policyv1.PodDisruptionBudget
	if pod.DeletionTimestamp != nil || slices.Contains([]corev1.PodPhase{corev1.PodPending, corev1.PodSucceeded, corev1.PodFailed}, pod.Status.Phase) {
		return nil
	}
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
		if b.Status.DisruptionsAllowed == 0 && !(evictsUnhealthy(b) && !isReady(pod)) {
			return fmt.Sprintf("PodDisruptionBudget %s allows no disruption now: %d of %d pods are healthy, %d must be",
				budgetName(b), b.Status.CurrentHealthy, b.Status.ExpectedPods, b.Status.DesiredHealthy) + wayOut(pod, b)
		}
	}
	return ""
}

// evictsUnhealthy reports whether a budget allows the eviction of pods that are not Ready in any
// case.
func evictsUnhealthy(b policyv1.PodDisruptionBudget) bool {
	return b.Spec.UnhealthyPodEvictionPolicy != nil && *b.Spec.UnhealthyPodEvictionPolicy == policyv1.AlwaysAllow
}

// wayOut names what would let a pod go that is not Ready and serves nobody; empty for others.
func wayOut(pod *corev1.Pod, b policyv1.PodDisruptionBudget) string {
	if isReady(pod) || evictsUnhealthy(b) || b.Status.CurrentHealthy >= b.Status.DesiredHealthy {
		return ""
	}
	return "; the pod is not Ready, and could leave with unhealthyPodEvictionPolicy: AlwaysAllow in the budget"
}

func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// held returns the finalizers of a pod, which stays until their controllers have removed them;
// empty for none. The finalizer of Jobs is removed by Kubernetes itself.
func held(pod *corev1.Pod) string {
	others := slices.DeleteFunc(slices.Clone(pod.Finalizers), func(f string) bool { return f == batchv1.JobTrackingFinalizer })
	if len(others) == 0 {
		return ""
	}
	return "it stays until its finalizers are removed: " + strings.Join(others, ", ")
}

// impossibleBudget returns the name of a disruption budget that never allows the eviction
// of a pod, however healthy the other pods are; empty without one.
func impossibleBudget(pod *corev1.Pod, all []policyv1.PodDisruptionBudget) string {
	found := budgetsOf(pod, all)
	if len(found) > 1 {
		return blockingBudget(pod, all)
	}
	for _, b := range found {
		if neverAllows(b) && !(evictsUnhealthy(b) && !isReady(pod)) {
			return fmt.Sprintf("PodDisruptionBudget %s never allows a disruption: all %d pods must be healthy", budgetName(b), b.Status.ExpectedPods) + wayOut(pod, b)
		}
	}
	return ""
}

// neverAllows reports whether a budget wants all its pods to be healthy.
func neverAllows(b policyv1.PodDisruptionBudget) bool {
	return b.Status.DisruptionsAllowed == 0 && b.Status.ExpectedPods > 0 && b.Status.DesiredHealthy >= b.Status.ExpectedPods
}

func budgetName(b policyv1.PodDisruptionBudget) string { return b.Namespace + "/" + b.Name }
