package leader

import (
	"context"
	"fmt"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"deployer/engine"
	"deployer/tasks/control/kube"
)

// state is the state of the controller manager as an API server reports it.
type state struct {
	leader  string // identity of the leader; empty when there is none
	watches bool   // the API server of this host has a watch of the Leases of all nodes
}

// observe reads the state from the API server of this host.
func observe(ctx context.Context, actx engine.ActionContext) (state, error) {
	if _, err := kube.Open(ctx, actx); err != nil { // loads the keys of the cluster
		return state{}, err
	}
	access, err := kube.AccessOf(ctx, actx)
	if err != nil {
		return state{}, err
	}
	client, err := access.On(actx.Host())
	if err != nil {
		return state{}, err
	}
	return read(ctx, client)
}

func read(ctx context.Context, client *kube.Client) (state, error) {
	var now state
	o, err := client.WithRetryTimeout(-1).Get(ctx, coordinationv1.SchemeGroupVersion.WithKind("Lease"), metav1.NamespaceSystem, program)
	var lease coordinationv1.Lease
	switch {
	case apierrors.IsNotFound(err):
		return now, nil
	case err == nil:
		err = runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &lease)
	}
	if err != nil {
		return now, fmt.Errorf("reading the lease of %s: %w", program, err)
	}
	if lease.Spec.HolderIdentity != nil {
		now.leader = *lease.Spec.HolderIdentity
	}
	err = client.EachLine(ctx, "/metrics", func(line string) bool {
		now.watches = watchesLeases(line)
		return !now.watches
	})
	return now, err
}

// watchesLeases reports whether a line of /metrics counts watches of the Leases of all namespaces.
// Only the node lifecycle controller has such a watch: kubelets do not watch Leases, and
// API servers watch those of one namespace.
func watchesLeases(line string) bool {
	labels, value, _ := strings.Cut(strings.TrimPrefix(line, "apiserver_longrunning_requests{"), "} ")
	for _, want := range []string{`group="coordination.k8s.io"`, `resource="leases"`, `scope="cluster"`, `verb="WATCH"`} {
		if !strings.Contains(labels, want) {
			return false
		}
	}
	return strings.HasPrefix(line, "apiserver_longrunning_requests{") && value != "0"
}
