package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"deployer/cluster"
	"deployer/engine"
	"deployer/tasks/control/actionctx"
	"deployer/tasks/control/keyring"
)

// PodCIDRs is the action `pod_cidrs`: it allocates the pod range of every node with
// [cluster.Cluster.AllocatePodRanges], from the network configurations of the hosts and from the
// Node objects. PodCIDRs changes nothing.
//
// The output maps the name of each node to its range, in a dual-stack cluster to one of each family,
// separated by a comma.
type PodCIDRs struct {
	Found    string `yaml:"found" rule:"variable" doc:"Name under which nodes registered their network configuration." required:"true"`
	Snapshot string `yaml:"snapshot" rule:"variable" doc:"Name under which snapshot_check was registered, in a restore: while no API responds, the Node objects are those of the snapshot. Default: none."`
}

// nodesTimeout is the maximum time for reading the Node objects. The API of a new
// cluster does not exist yet, and its installation must not wait for it.
const nodesTimeout = 2 * time.Second

// ReadOnly returns true: the action changes nothing.
func (*PodCIDRs) ReadOnly() bool { return true }

// Check allocates the ranges. Check fails when a node in the run has not registered its
// network configuration.
func (p *PodCIDRs) Check(ctx context.Context, actx engine.ActionContext) (engine.Change, error) {
	c, err := actionctx.Cluster(actx)
	if err != nil {
		return engine.Change{}, err
	}
	if missing := actionctx.Missing(actx, c.NodeNames, p.Found); len(missing) > 0 {
		return engine.Change{}, fmt.Errorf("allocating pod ranges: %s registered no network configuration as %q", strings.Join(missing, ", "), p.Found)
	}
	nodes, err := nodesInAPI(ctx, actx)
	if err != nil {
		return engine.Change{}, err
	}
	if len(nodes) == 0 {
		nodes = p.nodesInSnapshot(actx)
	}
	ranges := p.ranges(actx, c, nodes)
	got, err := c.AllocatePodRanges(ranges)
	if err != nil {
		return engine.Change{}, err
	}
	for _, name := range slices.Sorted(maps.Keys(got.Moved)) {
		actx.Progress("pod range of " + name + " changes: " + got.Moved[name])
	}
	out := engine.Output{}
	for name, list := range got.Ranges {
		out[name] = strings.Join(list, ",")
	}
	return engine.NoChange(out), nil
}

// Apply does nothing: Check never returns a needed change.
func (p *PodCIDRs) Apply(context.Context, engine.ActionContext, engine.Change) (engine.Output, error) {
	return nil, nil
}

// ranges returns the present range of each node, on the host and in the API, in
// inventory order, followed by Node objects whose host is not in the inventory.
func (p *PodCIDRs) ranges(actx engine.ActionContext, c *cluster.Cluster, nodes map[string]NodeState) []cluster.PodRange {
	var out []cluster.PodRange
	for _, name := range c.NodeNames {
		state, isNode := nodes[name]
		out = append(out, cluster.PodRange{
			Name:   name,
			OnHost: RangeIn(actionctx.Registered(actx, name, p.Found)),
			InAPI:  state.PodCIDR,
			IsNode: isNode,
		})
	}
	for _, name := range slices.Sorted(maps.Keys(nodes)) {
		if !slices.Contains(c.NodeNames, name) {
			out = append(out, cluster.PodRange{Name: name, InAPI: nodes[name].PodCIDR, IsNode: true, Gone: true})
		}
	}
	return out
}

// nodesInAPI returns the Node objects by name, none when no API responds. An error
// response of the API is an error, as a guess might allocate a range twice.
func nodesInAPI(ctx context.Context, actx engine.ActionContext) (map[string]NodeState, error) {
	client, err := anyClient(ctx, actx)
	if errors.Is(err, keyring.ErrEmpty) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, nodesTimeout)
	defer cancel()
	states, err := Nodes(ctx, client.WithRetryTimeout(-1), nil)
	if err != nil && (IsTransient(err) || ctx.Err() != nil) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the pod ranges of nodes: %w", err)
	}
	out := map[string]NodeState{}
	for _, s := range states {
		out[s.Name] = s
	}
	return out, nil
}

// nodesInSnapshot returns the Node objects of the snapshot that is restored by name, none
// without a restore.
func (p *PodCIDRs) nodesInSnapshot(actx engine.ActionContext) map[string]NodeState {
	if p.Snapshot == "" {
		return nil
	}
	ranges, _ := actionctx.Registered(actx, actx.Host(), p.Snapshot)["pod_cidrs"].(map[string]any)
	out := map[string]NodeState{}
	for name, cidr := range ranges {
		text, _ := cidr.(string)
		out[name] = NodeState{Name: name, PodCIDR: text}
	}
	return out
}

// RangeIn returns the pod ranges in the registered values of a host, separated by commas: the
// subnets of the first network configuration among them, one of each family; "" when there is none.
func RangeIn(v any) string {
	switch v := v.(type) {
	case engine.Output:
		return RangeIn(map[string]any(v))
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if found := RangeIn(v[key]); found != "" {
				return found
			}
		}
	case string:
		return subnetOf([]byte(v))
	}
	return ""
}

// subnetOf returns the ranges of the plugin host-local in a network configuration, in
// both of its forms (cni.dev/plugins/current/ipam/host-local), the first one of each family,
// separated by commas; "" when there is none.
func subnetOf(conf []byte) string {
	var list struct {
		Plugins []struct {
			IPAM struct {
				Subnet string
				Ranges [][]struct{ Subnet string }
			}
		}
	}
	if err := json.Unmarshal(conf, &list); err != nil {
		return ""
	}
	for _, plugin := range list.Plugins {
		candidates := []string{plugin.IPAM.Subnet}
		for _, set := range plugin.IPAM.Ranges {
			for _, r := range set {
				candidates = append(candidates, r.Subnet)
			}
		}
		var found []string
		for _, text := range candidates {
			if _, err := netip.ParsePrefix(text); err == nil && cluster.OfFamily(strings.Join(found, ","), cluster.FamilyOf(text)) == "" {
				found = append(found, text)
			}
		}
		if len(found) > 0 {
			return strings.Join(found, ",")
		}
	}
	return ""
}
