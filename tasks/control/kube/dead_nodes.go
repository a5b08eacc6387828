package kube

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// deadNodesEvery is the time between two lists of nodes while a wait lasts: a Node has about 10 kB, and large
// clusters have a thousand.
const deadNodesEvery = 10 * time.Second

// deadNodes are the nodes whose condition Ready is Unknown, which are those that do not report any more.
type deadNodes struct {
	names map[string]bool
	at    time.Time // when they were listed
}

// refresh lists the nodes again when the last list is old.
func (d *deadNodes) refresh(ctx context.Context, c *Client) error {
	if time.Since(d.at) < deadNodesEvery {
		return nil
	}
	nodes, err := listNodes(ctx, c, v1.ListOptions{})
	if err != nil {
		return err
	}
	*d = deadNodes{map[string]bool{}, time.Now()}
	for _, n := range nodes {
		for _, condition := range n.Status.Conditions {
			if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionUnknown {
				d.names[n.Name] = true
			}
		}
	}
	return nil
}

// podsOf returns the number of pods of a workload on the nodes. Kubernetes deletes them after five minutes, those
// of a DaemonSet never.
func (d *deadNodes) podsOf(ctx context.Context, c *Client, workload *unstructured.Unstructured) (int32, error) {
	if err := d.refresh(ctx, c); err != nil {
		return 0, err
	}
	labels, _, _ := unstructured.NestedStringMap(workload.Object, "spec", "selector", "matchLabels")
	if len(d.names) == 0 || len(labels) == 0 {
		return 0, nil
	}
	pods, err := ListAs[corev1.Pod](ctx, c, PodKind(), workload.GetNamespace(), v1.ListOptions{LabelSelector: selector(labels)})
	if err != nil {
		return 0, err
	}
	var count int32
	for _, pod := range pods {
		if d.names[pod.Spec.NodeName] && pod.DeletionTimestamp == nil {
			count++
		}
	}
	return count, nil
}
