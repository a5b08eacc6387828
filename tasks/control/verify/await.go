package verify

import (
	"context"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"deployer/cluster"
	"deployer/tasks/control/kube"
	"deployer/tasks/control/report"
	"deployer/tasks/poll"
)

// running is a probe pod that is ready.
type running struct {
	node, pod string
	ip        string // its primary address
	further   string // its address of the other family; empty for none
}

// furtherIP returns the address of a pod that is not of the family of its primary one.
func furtherIP(p *corev1.Pod) string {
	for _, a := range p.Status.PodIPs {
		if cluster.FamilyOf(a.IP) != cluster.FamilyOf(p.Status.PodIP) {
			return a.IP
		}
	}
	return ""
}

// watchDelay is the longest time after which kubelets, kube-proxy and DNS watch again
// when their API server was away: 30 s, and as much again at random (client-go,
// tools/cache/reflector.go, defaultBackoffMax and defaultBackoffJitter).
const watchDelay = 60 * time.Second

// knownTimeout is the maximum time until the kubelets know of the probe pods. That of a
// master has only the API server of its host: when this one was away for longer and has
// restarted soon after, the kubelet waits for watchDelay, learns that its watch is too
// old for the new server, and waits again before it lists its pods.
const knownTimeout = 2 * watchDelay

// startTimeout is the maximum time in which a kubelet that knows of a probe pod makes it
// ready; the image is on the node already.
const startTimeout = time.Minute

// starting are probe pods that are not ready yet.
type starting struct {
	began time.Time            // when the pods were created
	known map[string]time.Time // by node: when the kubelet was first seen to know of the pod
}

// isLate reports whether a pod has had enough time to become ready.
func (s starting) isLate(p *corev1.Pod, now time.Time) bool {
	if p.Status.StartTime == nil {
		return now.Sub(s.began) >= knownTimeout
	}
	if _, found := s.known[p.Spec.NodeName]; !found {
		s.known[p.Spec.NodeName] = now
	}
	return now.Sub(s.known[p.Spec.NodeName]) >= startTimeout
}

// await waits until every probe pod is ready, has failed, or is late. await
// returns the pods that are ready, and a row for each node.
func await(ctx context.Context, c *kube.Client, namespace string, nodes []string) ([]running, []report.Row) {
	var up []running
	problems := map[string]string{}
	pods := starting{time.Now(), map[string]time.Time{}}
	_ = poll.Until(ctx, knownTimeout+startTimeout, 500*time.Millisecond, func(ctx context.Context) (string, bool, error) {
		items, err := c.List(ctx, kube.PodKind(), namespace, v1.ListOptions{})
		if err != nil {
			return "", false, poll.Later(err)
		}
		up = up[:0]
		failed := 0 // pods that do not become ready
		for i := range items {
			var p corev1.Pod
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(items[i].Object, &p); err != nil {
				continue
			}
			if ready(&p) && p.Status.PodIP != "" {
				up = append(up, running{p.Spec.NodeName, p.Name, p.Status.PodIP, furtherIP(&p)})
				continue
			}
			problems[p.Spec.NodeName] = reason(&p)
			if p.Status.StartTime == nil && len(p.Status.ContainerStatuses) == 0 {
				problems[p.Spec.NodeName] = "the kubelet does not know of it yet"
			}
			if isPermanent(&p) || pods.isLate(&p, time.Now()) {
				failed++
			}
		}
		return "", len(up)+failed == len(nodes), nil
	})
	var rows []report.Row
	for _, node := range nodes {
		switch problem, exists := problems[node]; {
		case slices.ContainsFunc(up, func(r running) bool { return r.node == node }):
			rows = append(rows, report.OK("test pod", node, "runs"))
		case exists:
			rows = append(rows, report.Bad("test pod", node, "it does not become ready: %s", problem).Advised(advice(problem)))
		default:
			rows = append(rows, report.Bad("test pod", node, "it was not created"))
		}
	}
	return up, rows
}

// isPermanent reports whether a pod cannot become ready any more. The reason
// CreateContainerConfigError is not permanent: a kubelet that has just started reports
// it until its first list of services is complete.
func isPermanent(p *corev1.Pod) bool {
	if p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodSucceeded {
		return true
	}
	return slices.ContainsFunc(p.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool {
		return s.State.Waiting != nil && slices.Contains([]string{"ErrImageNeverPull", "InvalidImageName"}, s.State.Waiting.Reason)
	})
}

// advice returns the advice for a pod that does not become ready.
func advice(problem string) string {
	if strings.HasPrefix(problem, "ErrImageNeverPull") {
		return "run install again: it imports the probe image of this version of deployer"
	}
	return "look at journalctl -u kubelet on the host"
}
