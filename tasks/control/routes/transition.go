// Package routes has the actions that decide how a cluster in use comes to the BGP
// sessions of its inventory, and which MTU its pods get.
package routes

import (
	"context"
	"fmt"
	"slices"

	"deployer/cluster"
	"deployer/engine"
	"deployer/jsontypes"
	"deployer/tasks/control/actionctx"
)

// birdConf is the file of the sessions of a node.
const birdConf = "/etc/deployer/bird.conf"

// Transition is the action `bgp_transition`: it compares the sessions in the files of the
// nodes with those of the inventory, with [cluster.PlanBGPTransition]. Transition changes nothing.
//
// The output has `needed`, and the sessions `both` and `final` by node; without an entry
// a node has those of the inventory.
type Transition struct {
	Found string `yaml:"found" rule:"variable" doc:"Name under which nodes registered their network configuration." required:"true"`
}

// ReadOnly returns true: the action changes nothing.
func (*Transition) ReadOnly() bool { return true }

// Check compares the sessions.
func (t *Transition) Check(_ context.Context, actx engine.ActionContext) (engine.Change, error) {
	c, err := actionctx.Cluster(actx)
	if err != nil {
		return engine.Change{}, err
	}
	byAddress := map[string]string{}
	for name, node := range c.Nodes {
		for _, ip := range node.IPs {
			byAddress[ip] = name
		}
	}
	wanted, present := map[string][]cluster.Peer{}, map[string][]cluster.Peer{}
	targets := actx.Targets() // without the nodes on which an earlier step of the run has failed
	for _, name := range c.NodeNames {
		wanted[name] = c.Nodes[name].BGP.Peers
		if found := actionctx.Registered(actx, name, t.Found); found != nil && slices.Contains(targets, name) {
			files, _ := found["files"].(map[string]any)
			conf, _ := files[birdConf].(string)
			present[name] = peers(conf, c.Nodes, byAddress)
		}
	}
	plan := cluster.PlanBGPTransition(wanted, present)
	out, err := jsontypes.FromGo(map[string]any{"needed": plan.Needed, "both": byNode(plan.Both), "final": byNode(plan.Final)})
	if err != nil {
		return engine.Change{}, fmt.Errorf("sessions of the nodes: %w", err)
	}
	values, _ := out.(map[string]any)
	return engine.NoChange(values), nil
}

// byNode returns an empty map for nil, which variables do not have.
func byNode(sessions map[string][]cluster.Peer) map[string][]cluster.Peer {
	if sessions == nil {
		return map[string][]cluster.Peer{}
	}
	return sessions
}

// Apply does nothing: Check never returns a needed change.
func (*Transition) Apply(context.Context, engine.ActionContext, engine.Change) (engine.Output, error) {
	return nil, nil
}
