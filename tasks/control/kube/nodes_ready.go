package kube

import (
	"context"
	"time"

	"deployer/engine"
)

// NodesReady is the action `nodes_ready`: a gate that opens when nodes are
// Ready.
type NodesReady struct {
	Nodes   []string      `yaml:"nodes" rule:"node" doc:"Nodes to wait for; default: the hosts of the task."`
	Share   float64       `yaml:"share" range:"0..1" doc:"Share of the nodes that must be Ready; default 1."`
	Timeout time.Duration `yaml:"timeout" range:"0s.." doc:"Maximum wait; default 5m."`
}

// NewNodesReady returns the action with its defaults.
func NewNodesReady() *NodesReady { return &NodesReady{Share: 1, Timeout: 5 * time.Minute} }

// Check waits until the share of the nodes is Ready. In a dry run it does nothing.
func (n *NodesReady) Check(ctx context.Context, actx engine.ActionContext) (engine.Change, error) {
	if actx.CheckOnly() {
		return engine.NoChange(nil), nil
	}
	client, err := Open(ctx, actx)
	if err != nil {
		return engine.Change{}, err
	}
	names := n.Nodes
	if len(names) == 0 {
		names = actx.Targets()
	}
	return engine.NoChange(nil), WaitReady(ctx, client, names, n.Share, n.Timeout, actx.Progress)
}

// Gate returns the action itself: a revert repeats the same wait.
func (n *NodesReady) Gate() any { return n }

// Apply does nothing: Check never returns a needed change.
func (n *NodesReady) Apply(context.Context, engine.ActionContext, engine.Change) (engine.Output, error) {
	return nil, nil
}
