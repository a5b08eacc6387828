package calico

import (
	"context"
	"fmt"
	"slices"

	"deployer/engine"
	"deployer/tasks/control/calico/datastore"
)

// Node is the action `calico_node`: it gives the node of the host its place in the BGP sessions,
// by a cluster ID and labels.
type Node struct {
	Reflector *bool `yaml:"reflector" doc:"Whether the node is a route reflector. Default: unchanged."`
	// Canary is false by default: a node with its place in the sessions of the inventory is no canary.
	Canary bool `yaml:"canary" doc:"With reflector or clients: the sessions of the node are those of the BGPPeer deployer-canary, which has the settings of the inventory before all others; default false."`
	// Routers may be empty: then the node has no sessions with routers.
	Routers map[string]string `yaml:"routers" rule:"label" keys:"label-key" doc:"Labels by which the node has sessions with routers, as calico_routers returns them; others of these labels are removed. Default: unchanged."`
	Clients bool              `yaml:"clients" doc:"Set the labels by which the node has sessions with its reflectors; default false."`
	Ended   bool              `yaml:"ended" doc:"Calico does not run on the node any more: remove the addresses by which the others have sessions with it; default false."`
}

// Check compares the annotations and labels of the node.
func (n *Node) Check(ctx context.Context, actx engine.ActionContext) (engine.Change, error) {
	patch, err := n.patch(ctx, actx)
	if err != nil || patch == nil {
		return engine.Change{}, err
	}
	effect := engine.Effect{Kind: engine.EffectObject, Target: "Node " + actx.Host(), Action: "set the labels of its BGP sessions"}
	if n.Reflector != nil {
		effect.Action = "make it an ordinary node of the BGP sessions"
		if *n.Reflector {
			effect.Action = "make it a route reflector"
		}
	}
	if n.Canary {
		effect.Action = "give its BGP sessions the changed settings before all others"
	}
	if n.Ended {
		effect.Action = "remove the addresses of its BGP sessions"
	}
	if n.Routers != nil {
		effect.Action = "set the labels of its sessions with routers"
	}
	return engine.Changed(effect), nil
}

// Apply patches the node.
func (n *Node) Apply(ctx context.Context, actx engine.ActionContext, _ engine.Change) (engine.Output, error) {
	patch, err := n.patch(ctx, actx)
	if err != nil || patch == nil {
		return nil, err
	}
	_, store, err := datastore.Open(ctx, actx)
	if err != nil {
		return nil, err
	}
	return nil, patchNode(ctx, store, actx.Host(), patch)
}

// patch returns the patch of the node; nil when it is as wanted, and in a dry run before it exists.
func (n *Node) patch(ctx context.Context, actx engine.ActionContext) (map[string]any, error) {
	c, store, err := datastore.Open(ctx, actx)
	if err != nil {
		return nil, err
	}
	node, err := store.Node(ctx, actx.Host())
	switch {
	case actx.CheckOnly() && (isUnavailable(err) || err == nil && node == nil):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading node %s: %w", actx.Host(), err)
	case node == nil:
		return nil, fmt.Errorf("Calico has no node %s: calico-node has not started there yet", actx.Host()) //nolint:staticcheck // a name
	}
	if n.Ended {
		return endedPatch(node.Annotations), nil
	}
	var clients []string
	if n.Clients {
		clients = append([]string{}, c.WantedCalicoRoutes().Clients[actx.Host()]...)
		slices.Sort(clients)
	}
	var canary *bool
	if n.Reflector != nil || n.Clients {
		canary = &n.Canary
	}
	return nodePatch(node.Annotations, node.Labels, c.Nodes[actx.Host()], n.Reflector, canary, clients, n.Routers), nil
}

// endedPatch returns the JSON merge patch that removes the addresses of calico-node, which sets them at
// its start; nil when there are none.
func endedPatch(annotations map[string]string) map[string]any {
	removed := map[string]any{}
	for _, key := range []string{datastore.Address, datastore.AddressIPv6} {
		if _, has := annotations[key]; has {
			removed[key] = nil
		}
	}
	if len(removed) == 0 {
		return nil
	}
	return map[string]any{"metadata": map[string]any{"annotations": removed}}
}

// patchNode patches a node with a JSON merge patch.
func patchNode(ctx context.Context, store datastore.Store, name string, patch map[string]any) error {
	if err := store.PatchNode(ctx, name, patch); err != nil {
		return fmt.Errorf("patching node %s: %w", name, err)
	}
	return nil
}
