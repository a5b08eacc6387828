package kubelet

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	"deployer/engine"
	"deployer/tasks/control/kube"
)

// lease is the part of a Lease that the gate reads.
type lease struct {
	renewed  time.Time // by the clock of the node
	duration time.Duration
}

// interval is the time between two renewals: a quarter of the lease's duration
// (kubernetes pkg/kubelet, nodeLeaseRenewIntervalFraction).
func (l lease) interval() time.Duration { return l.duration / 4 }

// readLease reads a node's Lease once. noLease is true when the node has no Lease, as before
// it joins the cluster; unreachable is the error when no API server returned a result.
func readLease(ctx context.Context, open func(context.Context, engine.ActionContext) (*kube.Client, error), actx engine.ActionContext, node string) (l lease, noLease bool, unreachable error) {
	client, err := open(ctx, actx)
	if err != nil {
		return l, false, err
	}
	o, err := client.WithRetryTimeout(-1).Get(ctx, coordinationv1.SchemeGroupVersion.WithKind("Lease"), corev1.NamespaceNodeLease, node)
	switch {
	case apierrors.IsNotFound(err) && !kube.IsTransient(err):
		return l, true, nil
	case err != nil:
		return l, false, fmt.Errorf("reading the lease of node %s: %w", node, err)
	}
	var got coordinationv1.Lease
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &got); err != nil {
		return l, false, fmt.Errorf("reading the lease of node %s: %w", node, err)
	}
	if got.Spec.RenewTime == nil || got.Spec.LeaseDurationSeconds == nil {
		return l, true, nil
	}
	return lease{renewed: got.Spec.RenewTime.Time, duration: time.Duration(*got.Spec.LeaseDurationSeconds) * time.Second}, false, nil
}
