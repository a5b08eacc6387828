package kube

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1"

	"deployer/shortlist"
	"deployer/tasks/poll"
)

// NodeState is the state of a node that waits and reports need.
type NodeState struct {
	Name    string
	Ready   bool
	Reason  string // reason and message of the condition Ready
	Version string // version of the kubelet
	PodCIDR string // pod ranges separated by commas
	Created time.Time
	// Cordoned is true when spec.unschedulable is set, so the node accepts no new pods.
	Cordoned bool
	// LacksNetwork is true when the pod network is all that the node lacks to be Ready.
	LacksNetwork bool
}

// Nodes returns the states of the named nodes; names nil means all nodes. A named node
// that does not exist is included as not ready. Lists are read from the API server's
// cache, so that frequent calls cost little.
func Nodes(ctx context.Context, c *Client, names []string) ([]NodeState, error) {
	if len(names) == 1 {
		node, err := GetNode(ctx, c, names[0])
		if ignoreNotFound(err) != nil {
			return nil, err
		}
		return []NodeState{stateOf(names[0], node)}, nil
	}
	nodes, err := listNodes(ctx, c, v1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return nil, err
	}
	found := map[string]NodeState{}
	var all []string
	for _, node := range nodes {
		found[node.Name] = stateOf(node.Name, &node)
		all = append(all, node.Name)
	}
	if names == nil {
		names = all
	}
	states := make([]NodeState, len(names))
	for i, name := range names {
		states[i] = found[name]
		if states[i].Name == "" {
			states[i] = stateOf(name, nil)
		}
	}
	return states, nil
}

func listNodes(ctx context.Context, c *Client, options v1.ListOptions) ([]corev1.Node, error) {
	nodes, err := ListAs[corev1.Node](ctx, c, NodeKind(), "", options)
	if err != nil {
		return nil, fmt.Errorf("listing nodes: %w", err)
	}
	return nodes, nil
}

func stateOf(name string, node *corev1.Node) NodeState {
	if node == nil {
		return NodeState{Name: name, Reason: "there is no such node"}
	}
	s := NodeState{
		Name: name, Version: node.Status.NodeInfo.KubeletVersion, PodCIDR: PodRangesOf(node), Cordoned: node.Spec.Unschedulable,
		Created: node.CreationTimestamp.Time, Reason: "its kubelet has not reported yet",
	}
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			s.Ready = c.Status == corev1.ConditionTrue
			s.Reason = strings.TrimSpace(c.Reason + " " + c.Message)
			s.LacksNetwork = c.Status == corev1.ConditionFalse && strings.HasPrefix(c.Message, networkNotReady)
		}
	}
	return s
}

// WaitReady waits until the share (0 to 1) of the named nodes is Ready. On timeout the
// error names the nodes that are not.
func WaitReady(ctx context.Context, c *Client, names []string, share float64, timeout time.Duration, progress func(string)) error {
	return waitStates(ctx, c, names, timeout, progress, func(_ context.Context, states []NodeState) (bool, error) {
		ready := len(states) - len(unready(states))
		return ready >= int(portion(int32(len(names)), share)), nil
	})
}

// waitStates waits until the states of the named nodes are good enough. On timeout the error names
// the nodes that are not Ready.
func waitStates(ctx context.Context, c *Client, names []string, timeout time.Duration, progress func(string), enough func(context.Context, []NodeState) (bool, error)) error {
	last := ""
	err := poll.Until(ctx, timeout, 500*time.Millisecond, func(ctx context.Context) (string, bool, error) {
		states, err := Nodes(ctx, c, names)
		if err != nil {
			return "", false, err
		}
		if done, err := enough(ctx, states); done || err != nil {
			return "", done, err
		}
		state := notReadyText(states)
		if state != last {
			last = state
			progress("waiting: " + state)
		}
		return state, false, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for nodes: %w", err)
	}
	return nil
}

func unready(states []NodeState) []NodeState {
	return slices.DeleteFunc(slices.Clone(states), func(s NodeState) bool { return s.Ready })
}

// notReadyText names at most five nodes with their reasons.
func notReadyText(states []NodeState) string {
	bad := unready(states)
	var parts []string
	for _, s := range bad {
		parts = append(parts, fmt.Sprintf("%s (%s)", s.Name, s.Reason))
	}
	return fmt.Sprintf("%d of %d nodes are not Ready: %s", len(bad), len(states), shortlist.Names(parts, 5))
}
