package kube

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// podsOnDeadNodes returns the number of pods of a workload on nodes whose condition Ready is Unknown, which are
// those that do not report any more. Kubernetes deletes their pods after five minutes, those of a DaemonSet never.
func podsOnDeadNodes(ctx context.Context, c *Client, o *unstructured.Unstructured) (int32, error) {
	nodes, err := listNodes(ctx, c, v1.ListOptions{})
	if err != nil {
		return 0, err
	}
	dead := map[string]bool{}
	for _, n := range nodes {
		for _, condition := range n.Status.Conditions {
			if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionUnknown {
				dead[n.Name] = true
			}
		}
	}
	labels, _, _ := unstructured.NestedStringMap(o.Object, "spec", "selector", "matchLabels")
	if len(dead) == 0 || len(labels) == 0 {
		return 0, nil
	}
	pods, err := ListAs[corev1.Pod](ctx, c, PodKind(), o.GetNamespace(), v1.ListOptions{LabelSelector: selector(labels)})
	if err != nil {
		return 0, err
	}
	var count int32
	for _, pod := range pods {
		if dead[pod.Spec.NodeName] && pod.DeletionTimestamp == nil {
			count++
		}
	}
	return count, nil
}
