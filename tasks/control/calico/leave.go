package calico

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"deployer/cluster"
	"deployer/engine"
	"deployer/shortlist"
	"deployer/tasks/control/calico/datastore"
	"deployer/tasks/control/kube"
)

// The stages of a change from Calico to the plugin bgp, besides stageBegin and stageEnd.
const stageNodes = "nodes"

// Leave is the action `calico_leave`: it prepares a cluster for the time in which some nodes have Calico
// and others the plugin bgp, and removes the objects of Calico at the end.
//
// At the beginning each node gets the blocks of its own range, as far as no other node has them, loses
// empty blocks in the ranges of others, and may take no further ones: so nodes without Calico know by
// static routes where an address is. Calico's controllers end. The output has `blocks`, the blocks
// outside of its range that each node has.
//
// When the nodes have changed, the output has `left`, the names of nodes that still run Calico, and
// `sessions`, the names of BIRD's sessions that each node must have with nodes of the run.
type Leave struct {
	Stage string `yaml:"stage" rule:"in:begin,nodes,end" required:"true" doc:"Stage of the change: begin, nodes take no further blocks, and Calico's controllers end; nodes, look for nodes that still run Calico; end, all objects of Calico are removed."`
}

// leavePlan is the result of Check.
type leavePlan struct {
	config *kube.Planned // nil: as wanted
	remove []*unstructured.Unstructured
	create []*unstructured.Unstructured // blocks and affinities
	scale  bool                         // end the controllers
	nodes  map[string]map[string]any    // patches by node
}

// Check compares the objects.
func (l *Leave) Check(ctx context.Context, actx engine.ActionContext) (engine.Change, error) {
	c, client, err := open(ctx, actx, patient)
	if err != nil {
		return engine.Change{}, err
	}
	nodes, err := kube.ListAs[corev1.Node](ctx, client, kube.NodeKind(), "", v1.ListOptions{})
	if err != nil {
		return engine.Change{}, fmt.Errorf("listing nodes: %w", err)
	}
	switch l.Stage {
	case stageBegin:
		return beginLeave(ctx, client, nodes)
	case stageNodes:
		return engine.NoChange(nodesLeft(actx, c, nodes)), nil
	}
	return endLeave(ctx, client, nodes)
}

// nodesLeft returns the nodes that still run Calico, and the sessions of the others.
func nodesLeft(actx engine.ActionContext, c *cluster.Cluster, nodes []corev1.Node) engine.Output {
	left := []string{}
	for _, node := range nodes {
		// In a dry run, the nodes of the run count as changed.
		if node.Annotations[datastore.Address] != "" && !(actx.CheckOnly() && slices.Contains(actx.Targets(), node.Name)) {
			left = append(left, node.Name)
		}
	}
	slices.Sort(left)
	if len(left) > 0 {
		actx.Warn(fmt.Sprintf("%s still with Calico: repeat deployer network change-plugin when they are up; until then the other nodes keep routes to their pods, and the objects of Calico stay", shortlist.Names(left, maxNames)))
	}
	sessions := map[string]any{}
	for _, name := range c.NodeNames {
		own := []string{}
		for _, p := range c.Nodes[name].BGP.Peers {
			if !slices.Contains(actx.Targets(), p.Name) || slices.Contains(left, p.Name) {
				continue
			}
			for _, ip := range []string{p.IPv4, p.IPv6} {
				if ip != "" {
					own = append(own, cluster.BIRDSession(p.Name, ip))
				}
			}
		}
		sessions[name] = texts(own)
	}
	return engine.Output{"left": texts(left), "sessions": sessions}
}

// Apply carries out the plan.
func (l *Leave) Apply(ctx context.Context, actx engine.ActionContext, change engine.Change) (engine.Output, error) {
	client, err := kube.Open(ctx, actx)
	if err != nil {
		return nil, err
	}
	plan, ok := change.CheckState.(*leavePlan)
	if !ok {
		return nil, errors.New("calico_leave: Apply needs the change that Check returned")
	}
	if plan.scale {
		patch := []byte(`{"spec":{"replicas":0}}`)
		if _, err := client.Patch(ctx, kube.DeploymentKind(), v1.NamespaceSystem, controllers, patch, kube.Manager); err != nil {
			return nil, fmt.Errorf("ending Calico's controllers: %w", err)
		}
	}
	if plan.config != nil { // before any block, so that no node takes one of another
		if err := kube.Execute(ctx, client, []kube.Planned{*plan.config}, true, actx.Progress); err != nil {
			return nil, err
		}
	}
	if err := removeAll(ctx, client, plan.remove, actx.Progress); err != nil {
		return nil, err
	}
	for _, o := range plan.create {
		if err := client.Create(ctx, o); err != nil && !apierrors.IsAlreadyExists(err) {
			return nil, fmt.Errorf("creating %s: %w", kube.Describe(o), err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(plan.nodes)) {
		if err := patchNode(ctx, datastore.Kubernetes(client), name, plan.nodes[name]); err != nil {
			return nil, err
		}
	}
	return change.Output, nil
}
