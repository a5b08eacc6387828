package drain

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1"

	"deployer/tasks/control/kube"
)

// NodesWithImpossibleBudgets returns the names of the nodes with a pod that falls under a
// disruption budget which can never be met. Whether a drain would evict the pod is left to
// [ReadNode]. NodesWithImpossibleBudgets lists the pods of those namespaces only that have such a budget, or more
// than one.
func NodesWithImpossibleBudgets(ctx context.Context, c *kube.Client) (map[string]bool, error) {
	budgets, err := readBudgets(ctx, c)
	if err != nil {
		return nil, err
	}
	nodes := map[string]bool{}
	for namespace := range suspicious(budgets) {
		pods, err := kube.ListAs[corev1.Pod](ctx, c, kube.PodKind(), namespace, v1.ListOptions{})
		if err != nil {
			return nil, fmt.Errorf("listing the pods of namespace %s: %w", namespace, err)
		}
		for i := range pods {
			if node := pods[i].Spec.NodeName; node != "" && !nodes[node] && impossibleBudget(&pods[i], budgets) != "" {
				nodes[node] = true
			}
		}
	}
	return nodes, nil
}

// suspicious returns the namespaces in which a budget never allows a disruption, or in
// which a pod may fall under several budgets.
func suspicious(budgets []policyv1.PodDisruptionBudget) map[string]bool {
	out, seen := map[string]bool{}, map[string]bool{}
	for _, b := range budgets {
		if seen[b.Namespace] || neverAllows(b) {
			out[b.Namespace] = true
		}
		seen[b.Namespace] = true
	}
	return out
}
