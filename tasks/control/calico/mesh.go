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
	// stageCanary: the sessions of one node get settings that restart them, such as a password.
	stageCanary = "canary"
	// stageSettings: all present sessions get the settings.
	stageSettings = "settings"
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
	Stage string `yaml:"stage" rule:"in:canary,settings,begin,middle,end" required:"true" doc:"Stage of the change: canary, there is a BGPPeer with the settings of the inventory for the sessions of one node; settings, all present sessions get them; begin, the mesh stays or begins, and all nodes have sessions with all reflectors; middle, the mesh is as wanted; end, each node has sessions with its reflectors only."`
	// Canary ends a change of settings that its first node has not survived.
	Canary string `yaml:"canary" rule:"word" doc:"Name of the node whose sessions must have the settings before all others get them; default none."`
	// Former is for a change of settings that has failed.
	Former *Former `yaml:"former" doc:"Settings to write instead of those of the inventory, as calico_sessions has returned them."`
}

// Former are the settings that sessions had before they changed.
type Former struct {
	PasswordKey string `yaml:"password_key" rule:"word" doc:"Key of the password in the Secret; default none."`
	RestartTime string `yaml:"restart_time" rule:"word" doc:"Time for which others keep the routes of a node whose BIRD does not run; default that of BIRD."`
}

// meshPlan is the result of Check.
type meshPlan struct {
	apply  planned
	remove []string
}

// Check compares the objects by a dry run on the server.
func (m *Mesh) Check(ctx context.Context, actx engine.ActionContext) (engine.Change, error) {
	c, place, have, err := read(ctx, actx)
	if err != nil {
		return engine.Change{}, err
	}
	password, err := wantedPassword(actx, c, have)
	if err != nil {
		return engine.Change{}, err
	}
	if err := m.settled(have, password); err != nil && !actx.CheckOnly() { // in a dry run the stages before have changed nothing
		return engine.Change{}, err
	}
	objects, secret, names := m.objects(c, have, password)
	if actx.CheckOnly() && have.New {
		if secret != nil {
			objects = append(objects, secret)
		}
		return kube.UnknownChange(objects, notInstalled), nil
	}
	plan := meshPlan{}
	if plan.apply, err = place.plan(ctx, objects, secret); err != nil {
		return engine.Change{}, err
	}
	change := engine.Change{CheckState: &plan}
	plan.apply.addTo(&change)
	for _, name := range have.Peers {
		if m.Stage != stageCanary && !slices.Contains(names, name) {
			change.Needed = true
			plan.remove = append(plan.remove, name)
			change.Effects = append(change.Effects, engine.Effect{Kind: engine.EffectObject, Target: "BGPPeer " + name, Action: "remove", Reason: "the sessions of the inventory do without it"})
		}
	}
	return change, nil
}

// settled returns an error when a stage before has failed on a node: then sessions have their former
// settings, and would get those of the inventory here, without a gate.
func (m *Mesh) settled(have sessions, password string) error {
	settings, _ := have.wantedSettings(password)
	switch {
	case m.Former != nil || m.Stage == stageCanary:
	case m.Stage == stageSettings && m.Canary != "" && !slices.Contains(have.canaries, m.Canary):
		return fmt.Errorf("the BGP sessions keep their former password and settings, because node %s did not get its sessions with those of the inventory; its failure says why", m.Canary)
	case m.Stage != stageSettings && have.restarts(settings):
		return errors.New("the BGP sessions have their former password and settings, because a node did not get its sessions with those of the inventory; its failure says why")
	}
	return nil
}

// notInstalled is the reason for which a dry run cannot compare objects.
const notInstalled = "Calico is not installed yet"

// objects returns the objects of the stage in the opposite order of Apply, the Secret with passwords, nil
// without passwords, and the names of the BGPPeers between nodes.
func (m *Mesh) objects(c *cluster.Cluster, have sessions, password string) (objects []*unstructured.Unstructured, secret *unstructured.Unstructured, names []string) {
	settings, passwords := have.wantedSettings(password)
	if m.Former != nil {
		settings, passwords = sessionSettings{m.Former.PasswordKey, m.Former.RestartTime}, have.passwords
	}
	if m.Stage == stageEnd {
		passwords = keepOnly(passwords, settings.passwordKey)
	}
	mesh, names := sessionsOf(m.Stage, c.WantedCalicoRoutes(), have)
	if m.Stage != stageCanary {
		objects = append(objects, bgpConfiguration(c.Network, mesh, settings))
	}
	for _, name := range names {
		if name == cluster.PeerCanary {
			objects = append(objects, canaryPeer(have.Mesh, settings))
		} else {
			objects = append(objects, bgpPeer(name, settings))
		}
	}
	if len(passwords)+len(have.passwords) > 0 {
		secret = secretOf(passwords)
	}
	return objects, secret, names
}

// Apply writes the objects, first passwords, then those that add sessions.
func (m *Mesh) Apply(ctx context.Context, actx engine.ActionContext, change engine.Change) (engine.Output, error) {
	_, place, err := openPlaces(ctx, actx)
	if err != nil {
		return nil, err
	}
	plan, ok := change.CheckState.(*meshPlan)
	if !ok {
		return nil, errors.New("calico_mesh: Apply needs the change that Check returned")
	}
	slices.Reverse(plan.apply.objects) // the BGPConfiguration last, which may end the mesh
	if err := place.execute(ctx, plan.apply, actx.Progress); err != nil {
		return nil, err
	}
	for _, name := range plan.remove {
		if err := place.store.Delete(ctx, "BGPPeer", name); err != nil {
			return nil, fmt.Errorf("removing BGPPeer %s: %w", name, err)
		}
	}
	return nil, nil
}

// sessionsOf returns the mesh and the BGPPeers of a stage; the stage canary adds a BGPPeer to those that are
// there. A node that is down may still be the canary of an earlier run.
func sessionsOf(stage string, want cluster.CalicoRoutes, have sessions) (mesh bool, peers []string) {
	switch stage {
	case stageCanary:
		return have.Mesh, []string{cluster.PeerCanary}
	case stageSettings:
		return have.Mesh, slices.Clone(have.Peers)
	case stageBegin:
		return want.Mesh || have.Mesh, with(have.Peers, cluster.PeerTransition)
	}
	peers = slices.Clone(want.Peers)
	if stage == stageMiddle {
		peers = append(peers, cluster.PeerTransition)
	}
	if len(have.canaries) > 0 {
		peers = append(peers, cluster.PeerCanary)
	}
	return want.Mesh, peers
}

// with returns names with one more.
func with(names []string, name string) []string {
	if slices.Contains(names, name) {
		return slices.Clone(names)
	}
	return append(slices.Clone(names), name)
}
