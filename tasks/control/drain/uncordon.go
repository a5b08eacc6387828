package drain

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"deployer/tasks/control/kube"
	"deployer/tasks/poll"
)

// Uncordon makes a node schedulable again that deployer has cordoned, or, with force,
// anybody. Uncordon returns the earlier state.
func Uncordon(ctx context.Context, c *kube.Client, name string, force bool) (Cordon, error) {
	return open(ctx, c, name, force)
}

// WaitAlive waits until a node is Ready and its kubelet has renewed its lease since the
// call. Ready alone stays true for 50 s after a kubelet has died, and so over most
// reboots.
func WaitAlive(ctx context.Context, c *kube.Client, name string, timeout time.Duration, progress func(string)) error {
	first, known, last := v1.MicroTime{}, false, ""
	err := poll.Until(ctx, timeout, lookEvery, func(ctx context.Context) (string, bool, error) {
		heard, err := lastHeard(ctx, c, name)
		if err != nil {
			return "", false, err
		}
		if !known {
			first, known = heard, true
		}
		states, err := kube.Nodes(ctx, c, []string{name})
		if err != nil {
			return "", false, err
		}
		state := states[0].Reason
		if states[0].Ready {
			state = "its kubelet has not been heard since"
		}
		if state != last {
			last = state
			progress("waiting for node " + name + ": " + state)
		}
		return state, states[0].Ready && (heard.IsZero() || !heard.Equal(&first)), nil
	})
	if err != nil {
		return fmt.Errorf("node %s is not Ready: %w", name, err)
	}
	return nil
}

// lastHeard returns the kubelet's last renewal of its lease; zero without one.
func lastHeard(ctx context.Context, c *kube.Client, name string) (v1.MicroTime, error) {
	o, err := c.Get(ctx, kube.LeaseKind(), corev1.NamespaceNodeLease, name)
	if apierrors.IsNotFound(err) {
		return v1.MicroTime{}, nil
	}
	if err != nil {
		return v1.MicroTime{}, fmt.Errorf("reading the lease of node %s: %w", name, err)
	}
	var lease coordinationv1.Lease
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &lease); err != nil {
		return v1.MicroTime{}, fmt.Errorf("reading the lease of node %s: %w", name, err)
	}
	if lease.Spec.RenewTime == nil {
		return v1.MicroTime{}, nil
	}
	return *lease.Spec.RenewTime, nil
}
