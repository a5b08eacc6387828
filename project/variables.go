package project

import (
	"fmt"
	"maps"

	"deployer/cluster"
	"deployer/inventory"
	"deployer/jsontypes"
)

// Variables are the variables of the tasks of a run, without facts and registered
// results; docs/reference/variables.md lists them.
type Variables struct {
	shared   map[string]any
	hosts    map[string]map[string]any
	own      map[string]map[string]any // by host, from the inventory
	ofOthers map[string]map[string]any // by host, the part that other hosts may read
	// images has the container images of hosts whose versions differ from the cluster's:
	// the variables images and image_digests there.
	images map[string]hostImages
}

// WithoutCluster returns the variables of an inventory without a cluster: hosts, host,
// groups, and the variables of each host.
func WithoutCluster(inv *inventory.Inventory, given map[string]HostVars) *Variables {
	v := newVariables(given)
	all := map[string]any{}
	for _, h := range inv.Hosts {
		labels := map[string]any{}
		for name, value := range h.Labels {
			labels[name] = value
		}
		v.hosts[h.Name] = map[string]any{"name": h.Name, "address": h.Address, "roles": list(h.Roles), "labels": labels,
			"groups": list(h.Groups), "vars": given[h.Name].Shared}
		all[h.Name] = v.hosts[h.Name]
	}
	v.shared["hosts"], v.shared["groups"] = all, groups(inv.Table())
	return v
}

func newVariables(given map[string]HostVars) *Variables {
	v := &Variables{shared: map[string]any{}, hosts: map[string]map[string]any{}, own: map[string]map[string]any{}, ofOthers: map[string]map[string]any{},
		images: map[string]hostImages{}}
	for host, vars := range given {
		v.own[host], v.ofOthers[host] = vars.Own, vars.Shared
	}
	return v
}

// NewVariables returns the variables of an inventory with a cluster.
func NewVariables(inv *inventory.Inventory, given map[string]HostVars, c *cluster.Cluster, images Images) (*Variables, error) {
	v := newVariables(given)
	wide, err := jsontypes.FromGo(c)
	if err != nil {
		return nil, fmt.Errorf("variables of the cluster: %w", err)
	}
	all := map[string]any{}
	for name, node := range c.Nodes {
		m, err := jsontypes.FromGo(node)
		if err != nil {
			return nil, fmt.Errorf("variables of host %s: %w", name, err)
		}
		v.hosts[name] = m.(map[string]any)
		if h, ok := inv.Host(name); ok {
			v.hosts[name]["vars"], v.hosts[name]["groups"] = given[name].Shared, list(h.Groups)
		}
		all[name] = m
	}
	refs := map[string]any{}
	for name, ref := range images.Cluster {
		refs[name] = ref
	}
	v.shared["cluster"], v.shared["hosts"], v.shared["images"] = wide, all, refs
	for name, node := range c.Nodes {
		if own := ownImages(node, images); len(own) > 0 {
			names := maps.Clone(refs)
			maps.Copy(names, own)
			v.images[name] = hostImages{names: names}
		}
	}
	v.SetImageDigests(nil)
	v.SetAddonImages([]any{})
	v.SetConformanceImages([]any{}, "")
	v.shared["groups"] = groups(ClusterGroups(inv, c))
	return v, nil
}

// SetGroups sets groups: the hosts of each group and role of a run.
func (v *Variables) SetGroups(table map[string][]string) { v.shared["groups"] = groups(table) }

// SetDeparture sets leaving, the part of the cluster that the run takes out of it; with
// nil nothing leaves.
func (v *Variables) SetDeparture(d *cluster.Departure) error {
	if d == nil {
		d = cluster.NewDeparture(&cluster.Cluster{}, nil, nil)
	}
	leaving, err := jsontypes.FromGo(d)
	if err != nil {
		return fmt.Errorf("variables of hosts that leave: %w", err)
	}
	v.shared["leaving"] = leaving
	return nil
}

// ForHost returns the variables of a host. The caller owns the map but not its values, which
// are shared between hosts and must not be changed.
func (v *Variables) ForHost(host string) map[string]any {
	out := maps.Clone(v.own[host])
	if out == nil {
		out = map[string]any{}
	}
	maps.Copy(out, v.shared)
	out["host"] = v.hosts[host]
	if own, ok := v.images[host]; ok {
		out["images"], out["image_digests"] = own.names, own.digests
	}
	return out
}

// ClusterGroups maps every group and role to its hosts. Roles are those of the resolved
// cluster, so that etcd holds the masters when no host was named for it, and
// node holds masters and minions.
func ClusterGroups(inv *inventory.Inventory, c *cluster.Cluster) map[string][]string {
	out := inv.Table()
	for _, role := range []string{cluster.RoleMaster, cluster.RoleMinion, cluster.RoleEtcd, cluster.RoleProxy, cluster.RoleNode} {
		out[role] = nil
	}
	out["all"] = ClusterHosts(inv, c)
	for _, name := range out["all"] {
		for _, role := range c.Nodes[name].Roles {
			out[role] = append(out[role], name)
		}
	}
	return out
}

func groups(table map[string][]string) map[string]any {
	out := map[string]any{}
	for name, hosts := range table {
		out[name] = list(hosts)
	}
	return out
}

func list(texts []string) []any {
	out := make([]any, 0, len(texts))
	for _, t := range texts {
		out = append(out, t)
	}
	return out
}
