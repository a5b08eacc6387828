package kube

import (
	"context"
	"slices"
	"time"

	"deployer/engine"
)

// networkNotReady is the beginning of the message of the condition Ready of a node that lacks
// the pod network and nothing else; the messages of several reasons come in brackets
// (kubernetes pkg/kubelet/runtime.go, updateRuntimeUp, and pkg/kubelet/nodestatus, ReadyCondition).
const networkNotReady = "container runtime network not ready"

// LacksNetwork reports whether the cluster has no pod network: a node lacks it, and none is
// Ready.
func LacksNetwork(states []NodeState) bool {
	return slices.ContainsFunc(states, func(s NodeState) bool { return s.LacksNetwork }) &&
		!slices.ContainsFunc(states, func(s NodeState) bool { return s.Ready })
}

// PodNetwork is the action `pod_network`: it looks whether the cluster has a pod network, for
// clusters whose network is applied through their API, and warns when it has none. PodNetwork
// changes nothing.
type PodNetwork struct{}

// ReadOnly returns true: the action changes nothing.
func (*PodNetwork) ReadOnly() bool { return true }

// Check looks at the nodes. The output has under "present" false when the nodes lack it; true in a
// dry run without an API.
func (*PodNetwork) Check(ctx context.Context, actx engine.ActionContext) (engine.Change, error) {
	client, err := Open(ctx, actx)
	if err != nil {
		return engine.Change{}, err
	}
	if actx.CheckOnly() {
		client = client.WithRetryTimeout(-1)
	}
	states, err := Nodes(ctx, client, nil)
	if err != nil && actx.CheckOnly() && IsTransient(err) {
		return engine.NoChange(engine.Output{"present": true}), nil
	}
	if err != nil {
		return engine.Change{}, err
	}
	present := !LacksNetwork(states)
	if !present {
		actx.Warn(networkAdvice)
	}
	return engine.NoChange(engine.Output{"present": present}), nil
}

// Apply does nothing: Check never returns a needed change.
func (*PodNetwork) Apply(context.Context, engine.ActionContext, engine.Change) (engine.Output, error) {
	return nil, nil
}

// networkAdvice is the advice for a cluster without a pod network.
const networkAdvice = "the nodes have no pod network, and cluster.network.plugin is none: apply the manifests of yours, then test it with deployer verify"

// waitReadyOrWithoutNetwork waits until the node is Ready. As long as no node of the cluster has
// a pod network, a node that lacks nothing else is enough.
func waitReadyOrWithoutNetwork(ctx context.Context, c *Client, name string, timeout time.Duration, progress func(string)) error {
	return waitStates(ctx, c, []string{name}, timeout, progress, func(ctx context.Context, states []NodeState) (bool, error) {
		if !states[0].LacksNetwork {
			return states[0].Ready, nil
		}
		all, err := Nodes(ctx, c, nil)
		if err != nil {
			return false, err
		}
		// A list is of the API server's cache, which may be older than the node.
		others := slices.DeleteFunc(all, func(s NodeState) bool { return s.Name == name || !s.Ready })
		return len(others) == 0, nil
	})
}
