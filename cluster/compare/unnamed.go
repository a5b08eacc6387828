package compare

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"deployer/cluster"
)

// unnamed returns the conflict with nodes and members that the inventory does not name: a run
// would remove the routes to them and their place in every configuration, while they run.
// Without an API, the BGP sessions on the hosts show other nodes.
func unnamed(want *cluster.Cluster, found InUse) []Conflict {
	var names []string
	for _, n := range found.Nodes {
		names = append(names, n.Name)
	}
	nodes, members := withoutHost(want, names, found.Leaving), unnamedMembers(want, found.Etcd, found.Leaving)
	var out []Conflict
	if len(nodes) > 0 {
		out = append(out, Conflict{Subject: "nodes", Detail: extraNodes + strings.Join(nodes, ", "), Fix: waysOut(nodes) + unmanagedAdvice})
	}
	if len(members) > 0 && !slices.Equal(members, nodes) {
		out = append(out, Conflict{Subject: "etcd members", Detail: extraMembers + strings.Join(members, ", "), Fix: waysOut(members)})
	}
	if found.Nodes == nil {
		out = append(out, unnamedPeers(want, found)...)
	}
	return out
}

// The texts of both a survey's decision and a conflict.
const (
	extraNodes      = "the cluster has nodes that the inventory does not name: "
	extraMembers    = "etcd has members that the inventory does not name: "
	unmanagedAdvice = "; nodes that another program manages are named in cluster.unmanaged_nodes"
)

// unnamedMembers returns the names of the members that no host of the inventory has, sorted,
// without those that leave. A member that has never started has no name; the run removes it.
func unnamedMembers(want *cluster.Cluster, live *cluster.EtcdLive, leaving []string) []string {
	var names []string
	for _, m := range strangers(want, live) {
		if m.Name != "" {
			names = append(names, m.Name)
		}
	}
	return withoutHost(want, names, leaving)
}

// unnamedNodes returns the names of the nodes that no host of the inventory has, sorted.
func unnamedNodes(want *cluster.Cluster, nodes []Node) []string {
	var names []string
	for _, n := range nodes {
		names = append(names, n.Name)
	}
	return withoutHost(want, names, nil)
}

// withoutHost returns the names that neither a host of the inventory has nor a node of another
// program, sorted, without those that leave.
func withoutHost(want *cluster.Cluster, names, leaving []string) []string {
	var out []string
	for _, name := range names {
		if !Named(want, name) && !slices.Contains(leaving, name) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

func waysOut(names []string) string {
	list := strings.Join(names, " ")
	return fmt.Sprintf("write them into the inventory again; then take out those that shall leave with deployer scale-down %s, or, when their machines are gone, with deployer scale-down --dead %s", list, list)
}

// unnamedPeers returns the conflict with nodes that hosts have BGP sessions with, for a
// cluster whose API does not answer.
func unnamedPeers(want *cluster.Cluster, found InUse) []Conflict {
	var strange []string
	for _, name := range want.Order {
		strange = append(strange, withoutHost(want, found.Hosts[name].Peers, found.Leaving)...)
	}
	if len(strange) == 0 {
		return nil
	}
	slices.Sort(strange)
	strange = slices.Compact(strange)
	return []Conflict{{
		Subject: "nodes",
		Detail:  fmt.Sprintf("the API does not answer, and nodes have BGP sessions with hosts that the inventory does not name: %s", strings.Join(strange, ", ")),
		Fix:     "write them into the inventory again, or start the cluster first with deployer apply and take them out with deployer scale-down",
	}}
}

// Named reports whether a node belongs to a host of the inventory that has a role in the
// cluster, or is one that another program manages.
func Named(want *cluster.Cluster, node string) bool {
	return hasRole(want, node) || slices.ContainsFunc(want.UnmanagedNodes, func(pattern string) bool {
		match, err := path.Match(pattern, node)
		return err == nil && match
	})
}

// hasRole reports whether the inventory has a host of this name that has a role in the cluster.
// A host that has lost one of its roles is changed by the run itself.
func hasRole(want *cluster.Cluster, name string) bool {
	n := want.Nodes[name]
	return n.IsNode || n.IsEtcd || n.IsProxy
}
