package verify

import (
	"context"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"deployer/tasks/control/kube"
	"deployer/tasks/control/poll"
	"deployer/tasks/control/report"
)

// running is a probe that is ready.
type running struct{ node, pod, ip string }

// startTimeout is how long probes may take until they are ready; their image is
// on the nodes already.
const startTimeout = 45 * time.Second

// await waits until all probes are ready, and goes on with those that are when
// time is over. The others are rows.
func await(ctx context.Context, c *kube.Client, namespace string, nodes []string) ([]running, []report.Row) {
	var up []running
	troubles := map[string]string{}
	_ = poll.Until(ctx, startTimeout, 500*time.Millisecond, func(ctx context.Context) (string, bool, error) {
		items, err := c.List(ctx, kube.PodKind(), namespace, v1.ListOptions{})
		if err != nil {
			return "", false, poll.Later(err)
		}
		up = up[:0]
		over := 0 // cannot become ready any more
		for i := range items {
			var p corev1.Pod
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(items[i].Object, &p); err != nil {
				continue
			}
			if ready(&p) && p.Status.PodIP != "" {
				up = append(up, running{p.Spec.NodeName, p.Name, p.Status.PodIP})
				continue
			}
			troubles[p.Spec.NodeName] = reason(&p)
			if isPermanent(&p) {
				over++
			}
		}
		return "", len(up)+over == len(nodes), nil
	})
	var rows []report.Row
	for _, node := range nodes {
		switch trouble, said := troubles[node]; {
		case slices.ContainsFunc(up, func(r running) bool { return r.node == node }):
			rows = append(rows, report.OK("test pod", node, "runs"))
		case said:
			rows = append(rows, report.Bad("test pod", node, "it does not become ready: %s", trouble).Advised(advice(trouble)))
		default:
			rows = append(rows, report.Bad("test pod", node, "it was not made"))
		}
	}
	return up, rows
}

// isPermanent tells pods that waiting does not help. CreateContainerConfigError is
// not among the reasons: a kubelet that has just started gives it until it has
// read the services for the first time.
func isPermanent(p *corev1.Pod) bool {
	if p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodSucceeded {
		return true
	}
	return slices.ContainsFunc(p.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool {
		return s.State.Waiting != nil && slices.Contains([]string{"ErrImageNeverPull", "InvalidImageName"}, s.State.Waiting.Reason)
	})
}

// advice says what to do about a pod that does not start.
func advice(trouble string) string {
	if strings.HasPrefix(trouble, "ErrImageNeverPull") {
		return "run install again: it brings the probe of this deployer to the nodes"
	}
	return "look at journalctl -u kubelet on the host"
}
