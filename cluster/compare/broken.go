package compare

import (
	"fmt"
	"slices"

	"deployer/cluster"
	"deployer/shortlist"
)

// componentHost is the component of a host that could not be examined.
const componentHost = "host"

// unreachable returns the hosts that could not be examined.
func unreachable(want *cluster.Cluster, found Observed) []Broken {
	var out []Broken
	for _, name := range want.Order {
		if h := found.Hosts[name]; h.Failure != "" {
			out = append(out, Broken{Host: name, Component: componentHost, Detail: h.Failure})
		}
	}
	return out
}

// broken returns the components that do not work, in inventory order; nodes and members of
// other hosts come last.
func broken(want *cluster.Cluster, found Observed) []Broken {
	out := unreachable(want, found)
	for _, name := range want.Order {
		n := want.Nodes[name]
		h := found.Hosts[name]
		out = append(out, emptied(found, n)...)
		if h.Failure == "" {
			for _, b := range h.Broken {
				b.Host = name
				out = append(out, b)
			}
		}
		if m := memberOf(found.Etcd, n); n.IsEtcd && m != nil && !m.Healthy {
			out = append(out, Broken{Host: name, Component: "etcd", Detail: "its member does not serve"})
		}
	}
	for _, n := range found.Nodes {
		if !n.Ready && !lacksOwnNetwork(want, n) {
			out = append(out, Broken{Host: n.Name, Component: "node", Detail: "not Ready: " + n.Reason})
		}
	}
	for _, m := range strangers(want, found.Etcd) {
		if !m.Healthy {
			name := memberName(m)
			out = append(out, Broken{Host: name, Component: "etcd", Detail: "its member does not serve, and the inventory has no host for it", Fix: "deployer scale-down --dead " + name})
		}
	}
	return out
}

// lacksOwnNetwork reports whether all that a node lacks is the pod network, which deployer does
// not install in this cluster.
func lacksOwnNetwork(want *cluster.Cluster, n Node) bool {
	return n.LacksNetwork && want.Network.Plugin == cluster.PluginNone
}

// networkMissing returns the problem of nodes without the pod network that deployer does not
// install.
func networkMissing(want *cluster.Cluster, nodes []Node) []Broken {
	var names []string
	for _, n := range nodes {
		if !n.Ready && lacksOwnNetwork(want, n) {
			names = append(names, n.Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []Broken{{Component: "pod network", Detail: shortlist.Names(names, 5) + " have none, so they are not Ready", Fix: "apply the manifests of your pod network (network.plugin is none)"}}
}

// emptied returns the components that a host has lost although the cluster counts them,
// because the machine or its disk was replaced.
func emptied(found Observed, n cluster.Node) []Broken {
	h, examined := found.Hosts[n.Name]
	if !examined || h.Failure != "" {
		return nil
	}
	var out []Broken
	if m := memberOf(found.Etcd, n); n.IsEtcd && m != nil && !h.HasEtcdData {
		out = append(out, Broken{Host: n.Name, Component: "etcd", Detail: "the cluster counts it as a member, and it has no data: its member is replaced"})
	}
	isNode := slices.ContainsFunc(found.Nodes, func(o Node) bool { return o.Name == n.Name })
	if n.IsNode && isNode && !h.HasKubelet {
		out = append(out, Broken{Host: n.Name, Component: "kubelet", Detail: "the cluster has this node, and no kubelet is installed: it is installed again"})
	}
	return out
}

// failedHosts returns the hosts whose machine or etcd member does not work, and which
// may have to be replaced.
func failedHosts(want *cluster.Cluster, found Observed) []string {
	var out []string
	for _, name := range want.Order {
		n := want.Nodes[name]
		m := memberOf(found.Etcd, n)
		notReady := slices.ContainsFunc(found.Nodes, func(o Node) bool { return o.Name == name && !o.Ready && !lacksOwnNetwork(want, o) })
		if found.Hosts[name].Failure != "" || notReady || n.IsEtcd && m != nil && !m.Healthy {
			out = append(out, name)
		}
	}
	return out
}

// Replacement is a machine that is to be replaced.
type Replacement struct {
	Host string `json:"host"`
	// Blocked is the reason why the machine must not be replaced; empty when it may, after
	// those before it have been.
	Blocked string `json:"blocked,omitempty"`
}

// Replacements returns the order in which broken machines may be replaced one at a time,
// so that etcd keeps its majority over all its members throughout: first those whose
// member is dead, as each of them makes the cluster stronger, then those whose member
// still serves, then machines without a member.
func Replacements(live cluster.EtcdLive, hosts []string) []Replacement {
	var dead, serving, others []string
	voters, healthy := 0, 0
	for _, m := range live.Members {
		if m.Learner {
			continue
		}
		voters++
		if m.Healthy {
			healthy++
		}
	}
	for _, h := range hosts {
		switch m := named(live, h); {
		case m == nil || m.Learner:
			others = append(others, h)
		case m.Healthy:
			serving = append(serving, h)
		default:
			dead = append(dead, h)
		}
	}
	var out []Replacement
	majority := voters/2 + 1
	for _, h := range dead {
		r := Replacement{Host: h}
		if healthy < majority {
			r.Blocked = fmt.Sprintf("%d of %d members serve, a majority is %d: restore a backup", healthy, voters, majority)
		} else {
			healthy++ // the new member serves
		}
		out = append(out, r)
	}
	for _, h := range serving {
		r := Replacement{Host: h}
		switch {
		case voters == 1:
			r.Blocked = "it has the only member: add masters first"
		case healthy-1 < majority:
			r.Blocked = fmt.Sprintf("without it %d of %d members serve, and a majority is %d", healthy-1, voters, majority)
		}
		out = append(out, r)
	}
	for _, h := range others {
		out = append(out, Replacement{Host: h})
	}
	return out
}

// named returns the member with a name; nil for none.
func named(live cluster.EtcdLive, name string) *cluster.LiveMember {
	for i, m := range live.Members {
		if m.Name == name {
			return &live.Members[i]
		}
	}
	return nil
}

// unrepairable are the checks of a host whose problems no run repairs: an administrator or another
// program has to act.
var unrepairable = []string{"files in manifests", "CNI configuration", "pod egress", "kernel settings", "name servers of pods"}

// Repairable reports whether a repair may solve the problem of a host's check.
func Repairable(check string) bool { return !slices.Contains(unrepairable, check) }
