package calico

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"deployer/cluster"
	"deployer/engine"
	"deployer/tasks/control/kube"
)

// The stages of a change of the sessions.
const (
	// stageBegin: the mesh stays or begins, and all nodes have sessions with all reflectors.
	stageBegin = "begin"
	// stageMiddle: the mesh is as wanted, and all nodes have sessions with all reflectors, beside
	// those of the end.
	stageMiddle = "middle"
	// stageEnd: the mesh is as wanted, and each node has sessions with its reflectors only.
	stageEnd = "end"
)

// Mesh is the action `calico_mesh`: it writes the BGPConfiguration and the BGPPeers of a stage, and
// removes deployer's other BGPPeers.
type Mesh struct {
	Stage string `yaml:"stage" rule:"in:begin,middle,end" required:"true" doc:"Stage of the change: begin, the mesh stays or begins, and all nodes have sessions with all reflectors; middle, the mesh is as wanted; end, each node has sessions with its reflectors only."`
}

// meshPlan is the result of Check.
type meshPlan struct {
	apply  []kube.Planned
	remove []string
}

// Check compares the objects by a dry run on the server.
func (m *Mesh) Check(ctx context.Context, actx engine.ActionContext) (engine.Change, error) {
	c, client, have, err := read(ctx, actx)
	if err != nil {
		return engine.Change{}, err
	}
	mesh, names := sessionsOf(m.Stage, c.WantedCalicoRoutes(), have)
	objects := []*unstructured.Unstructured{bgpConfiguration(c.Network, mesh)}
	for _, name := range names {
		objects = append(objects, bgpPeer(name))
	}
	if actx.CheckOnly() && have.New {
		return kube.UnknownChange(objects, "Calico is not installed yet"), nil
	}
	plan := meshPlan{}
	if plan.apply, err = kube.Plan(ctx, client, objects, true); err != nil {
		return engine.Change{}, err
	}
	change := engine.Change{CheckState: &plan}
	for _, p := range plan.apply {
		if p.Needed {
			change.Needed = true
			change.Effects = append(change.Effects, p.Effect)
		}
	}
	for _, name := range have.Peers {
		if !slices.Contains(names, name) {
			change.Needed = true
			plan.remove = append(plan.remove, name)
			change.Effects = append(change.Effects, engine.Effect{Kind: engine.EffectObject, Target: "BGPPeer " + name, Action: "remove", Reason: "the sessions of the inventory do without it"})
		}
	}
	return change, nil
}

// sessionsOf returns the mesh and the BGPPeers of a stage.
func sessionsOf(stage string, want, have cluster.CalicoRoutes) (mesh bool, peers []string) {
	switch stage {
	case stageBegin:
		all := slices.Clone(have.Peers)
		if !slices.Contains(all, cluster.PeerTransition) {
			all = append(all, cluster.PeerTransition)
		}
		return want.Mesh || have.Mesh, all
	case stageMiddle:
		return want.Mesh, append(slices.Clone(want.Peers), cluster.PeerTransition)
	}
	return want.Mesh, want.Peers
}

// Apply writes the objects, first those that add sessions.
func (m *Mesh) Apply(ctx context.Context, actx engine.ActionContext, change engine.Change) (engine.Output, error) {
	client, err := kube.Open(ctx, actx)
	if err != nil {
		return nil, err
	}
	plan, ok := change.CheckState.(*meshPlan)
	if !ok {
		return nil, errors.New("calico_mesh: Apply needs the change that Check returned")
	}
	slices.Reverse(plan.apply) // the BGPConfiguration last, which may end the mesh
	if err := kube.Execute(ctx, client, plan.apply, true, actx.Progress); err != nil {
		return nil, err
	}
	for _, name := range plan.remove {
		if err := client.Delete(ctx, kindOf("BGPPeer"), "", name, -1); err != nil {
			return nil, fmt.Errorf("removing BGPPeer %s: %w", name, err)
		}
	}
	return nil, nil
}
