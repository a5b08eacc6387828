package verify

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"deployer/tasks/control/kube"
)

// settleTimeout is the time during which failed targets are retried. A new Service takes
// some seconds to reach the rules of every node and DNS, and up to watchDelay more where
// the API server of the node has just restarted.
const settleTimeout = watchDelay + settleMargin

// settleMargin is the time until those who watch the API have used what they see.
const settleMargin = 5 * time.Second

// longestWatchDelay is the longest time after the start of an API server until all watch it: the
// server may refuse the first attempt after watchDelay with HTTP status 429, and the next one
// comes as much later.
const longestWatchDelay = 2 * watchDelay

// settleTime returns settleTimeout, or the time until everybody watches the API server that has
// started last, when this is longer. Errors are ignored: the check itself reports an API that
// does not answer.
func settleTime(ctx context.Context, c *kube.Client, now time.Time) time.Duration {
	items, err := c.List(ctx, kube.PodKind(), system, metav1.ListOptions{LabelSelector: "component=kube-apiserver"})
	if err != nil {
		return settleTimeout
	}
	out := settleTimeout
	for i := range items {
		var p corev1.Pod
		if runtime.DefaultUnstructuredConverter.FromUnstructured(items[i].Object, &p) != nil {
			continue
		}
		for _, s := range p.Status.ContainerStatuses {
			if s.State.Running != nil {
				out = max(out, min(longestWatchDelay, longestWatchDelay-now.Sub(s.State.Running.StartedAt.Time))+settleMargin)
			}
		}
	}
	return out
}
