package calico

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"deployer/cluster"
	"deployer/engine"
	"deployer/tasks/control/kube"
)

// Sessions is the action `calico_sessions`: it compares the BGP sessions that the API has with
// those of the inventory, with [cluster.PlanCalicoTransition]. It changes nothing.
//
// The output has `new`, `needed`, `become` and `leave`, and for each node the names of the sessions
// that it must have at the gates of the change, with hosts of the run: `mesh_sessions` when the mesh
// has begun, `changed_sessions` when the node itself has changed, `transition_sessions` while all
// nodes have sessions with all reflectors, and `sessions` at the end.
type Sessions struct{}

// ReadOnly returns true: the action changes nothing.
func (*Sessions) ReadOnly() bool { return true }

// Check compares the sessions. In a dry run without an API a cluster counts as unchanged.
func (*Sessions) Check(ctx context.Context, actx engine.ActionContext) (engine.Change, error) {
	c, _, have, err := read(ctx, actx)
	if err != nil {
		return engine.Change{}, err
	}
	plan := cluster.PlanCalicoTransition(c.WantedCalicoRoutes(), have)
	out := engine.Output{"new": have.New, "needed": plan.Needed, "become": texts(plan.Become), "leave": texts(plan.Leave)}
	names := sessionNames{cluster: c, have: have, inRun: actx.Targets()}
	out["mesh_sessions"], out["changed_sessions"] = names.byNode(names.begun), names.byNode(names.changed)
	out["transition_sessions"], out["sessions"] = names.byNode(names.transition), names.byNode(names.final)
	return engine.NoChange(out), nil
}

// Apply does nothing: Check never returns a needed change.
func (*Sessions) Apply(context.Context, engine.ActionContext, engine.Change) (engine.Output, error) {
	return nil, nil
}

func texts(all []string) []any {
	out := make([]any, 0, len(all))
	for _, s := range all {
		out = append(out, s)
	}
	return out
}

// read returns the cluster of the inventory, a client, and the sessions that the API has. In a dry
// run without an API the cluster is a new one.
func read(ctx context.Context, actx engine.ActionContext) (*cluster.Cluster, *kube.Client, cluster.CalicoRoutes, error) {
	c, client, err := open(ctx, actx, patientInRuns)
	if err != nil {
		return nil, nil, cluster.CalicoRoutes{}, err
	}
	have, err := present(ctx, client)
	if actx.CheckOnly() && err != nil && kube.IsTransient(err) {
		have, err = cluster.CalicoRoutes{New: true}, nil
	}
	return c, client, have, err
}

// present reads the sessions from the API.
func present(ctx context.Context, client *kube.Client) (cluster.CalicoRoutes, error) {
	out := cluster.CalicoRoutes{Mesh: true, Clients: map[string][]string{}}
	config, err := client.Get(ctx, kindOf("BGPConfiguration"), "", "default")
	switch {
	case apierrors.IsNotFound(err) || kube.IsUnknownKind(err):
		return cluster.CalicoRoutes{New: true, Mesh: true}, nil
	case err != nil:
		return out, fmt.Errorf("reading the BGPConfiguration: %w", err)
	}
	if mesh, found, err := unstructured.NestedBool(config.Object, "spec", "nodeToNodeMeshEnabled"); err == nil && found {
		out.Mesh = mesh
	}
	if out.Peers, err = peers(ctx, client); err != nil {
		return out, err
	}
	nodes, err := kube.ListAs[corev1.Node](ctx, client, kube.NodeKind(), "", v1.ListOptions{})
	if err != nil {
		return out, fmt.Errorf("listing nodes: %w", err)
	}
	for _, node := range nodes {
		if node.Annotations[clusterIDAnnotation] != "" {
			out.Reflectors = append(out.Reflectors, node.Name)
		}
		for key := range node.Labels {
			if reflector, ok := strings.CutPrefix(key, clientPrefix); ok {
				out.Clients[node.Name] = append(out.Clients[node.Name], reflector)
			}
		}
		slices.Sort(out.Clients[node.Name])
	}
	return out, nil
}

// peers returns the names of the BGPPeers between nodes that deployer has written.
func peers(ctx context.Context, client *kube.Client) ([]string, error) {
	found, err := client.List(ctx, kindOf("BGPPeer"), "", v1.ListOptions{LabelSelector: managedLabel + "=" + kube.Manager})
	if err != nil {
		return nil, fmt.Errorf("listing BGPPeers: %w", err)
	}
	var names []string
	for _, o := range found {
		if !strings.HasPrefix(o.GetName(), routerObjects) {
			names = append(names, o.GetName())
		}
	}
	return names, nil
}
