package drain

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"deployer/tasks/control/kube"
)

// Step does one step of a drain for programs that look at a node now and then: it requests the eviction of the pods
// that have to leave, waits for none of them, and returns the pods that are left, each with the reason. The node is
// drained when there are none. Step does not cordon the node, and does not look at o.Timeout.
func Step(ctx context.Context, c *kube.Client, node string, o Options) (left []string, err error) {
	d := &drainer{c: c, node: node, o: o, progress: func(string) {}, asked: map[types.UID]time.Time{}, kept: map[types.UID]string{}}
	if d.left, err = podsToEvict(ctx, c, node, o); err != nil || len(d.left) == 0 {
		return nil, err
	}
	if err := d.ask(ctx); err != nil {
		return nil, err
	}
	if d.left, err = podsToEvict(ctx, c, node, o); err != nil {
		return nil, err
	}
	if len(d.kept) > 0 {
		budgets, err := readBudgets(ctx, c)
		if err != nil {
			return nil, err
		}
		d.explain(budgets)
	}
	return d.stillThere(), nil
}

// KillOverdue removes the pods of a node that have been terminating for longer than their grace period allows, and
// as long again: the kubelet has not ended them. It returns their names. Their processes may still run if the host
// does, so two pods may use one volume; call it only when the user permits that.
func KillOverdue(ctx context.Context, c *kube.Client, node string, o Options, now time.Time) (killed []string, err error) {
	pods, err := podsToEvict(ctx, c, node, o)
	if err != nil {
		return nil, err
	}
	for i := range pods {
		if !overdue(&pods[i], now) {
			continue
		}
		if err := c.DeletePod(ctx, &pods[i], new(int64)); err != nil {
			return killed, err
		}
		killed = append(killed, nameOf(&pods[i]))
	}
	return killed, nil
}

// overdue reports whether a pod should have ended long ago. Its deletion timestamp is the end of its grace period.
func overdue(pod *corev1.Pod, now time.Time) bool {
	if pod.DeletionTimestamp == nil || pod.DeletionGracePeriodSeconds == nil {
		return false
	}
	return now.After(pod.DeletionTimestamp.Add(time.Duration(*pod.DeletionGracePeriodSeconds) * time.Second))
}
