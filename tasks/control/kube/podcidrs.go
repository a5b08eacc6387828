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

// PodCIDRs is the action `pod_cidrs`: it gives every node its range of pod
// addresses by the rule of package cluster, from what hosts have in their
// network configuration and what Node objects say. It changes nothing.
//
// Output: the range of each node, by its name.
type PodCIDRs struct {
	Found string `yaml:"found" doc:"Name under which nodes registered their network configuration." required:"true"`
}

// quickLook bounds the question to an API that may not exist yet: a new cluster
// must not wait for it.
const quickLook = 2 * time.Second

// ReadOnly is true.
func (*PodCIDRs) ReadOnly() bool { return true }

// Check allocates.
func (p *PodCIDRs) Check(ctx context.Context, site engine.ActionContext) (engine.Change, error) {
	c, err := actionctx.Cluster(site)
	if err != nil {
		return engine.Change{}, err
	}
	if silent := actionctx.Missing(site, c.NodeNames, p.Found); len(silent) > 0 {
		return engine.Change{}, fmt.Errorf("no pod ranges are given: %s did not say which they have (%q)", strings.Join(silent, ", "), p.Found)
	}
	nodes, err := nodesInAPI(ctx, site)
	if err != nil {
		return engine.Change{}, err
	}
	ranges := p.ranges(site, c, nodes)
	got, err := cluster.AllocatePodCIDRs(c.PodCIDRs[0], c.NodePrefix, ranges)
	if err != nil {
		return engine.Change{}, err
	}
	for _, name := range slices.Sorted(maps.Keys(got.Moved)) {
		site.Progress("pod range of " + name + " changes: " + got.Moved[name])
	}
	out := engine.Output{}
	for name, list := range got.Ranges {
		out[name] = list[0]
	}
	return engine.NoChange(out), nil
}

// Apply is never needed.
func (p *PodCIDRs) Apply(context.Context, engine.ActionContext, engine.Change) (engine.Output, error) {
	return nil, nil
}

// ranges joins what hosts and the API hold, in inventory order, and after that
// Node objects whose host is gone.
func (p *PodCIDRs) ranges(site engine.ActionContext, c *cluster.Cluster, nodes map[string]NodeState) []cluster.PodRange {
	var out []cluster.PodRange
	for _, name := range c.NodeNames {
		state, isNode := nodes[name]
		out = append(out, cluster.PodRange{
			Name:   name,
			OnHost: rangeIn(actionctx.Registered(site, name, p.Found)),
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

// nodesInAPI reads the Node objects; none when no API answers. An API that
// answers with an error is an error: to guess would give ranges away twice.
func nodesInAPI(ctx context.Context, site engine.ActionContext) (map[string]NodeState, error) {
	client, err := anyClient(site)
	if errors.Is(err, keyring.ErrEmpty) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, quickLook)
	defer cancel()
	states, err := Nodes(ctx, client.WithoutRetries(-1), nil)
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

// rangeIn finds the pod range in what a host registered: the subnet in the
// first network configuration among its values.
func rangeIn(v any) string {
	switch v := v.(type) {
	case engine.Output:
		return rangeIn(map[string]any(v))
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if found := rangeIn(v[key]); found != "" {
				return found
			}
		}
	case string:
		return subnetOf([]byte(v))
	}
	return ""
}

// subnetOf reads the range that host-local gives out, in both of the forms that
// its configuration has (cni.dev/plugins/current/ipam/host-local).
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
		for _, text := range candidates {
			if _, err := netip.ParsePrefix(text); err == nil {
				return text
			}
		}
	}
	return ""
}
