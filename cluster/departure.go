package cluster

import (
	"fmt"
	"slices"
)

// Departure is the part of a cluster that a run takes out of it. Lists are never null;
// lists of hosts are in inventory order, and names that the inventory does not have come
// last. Roles see it as the variable `leaving`.
type Departure struct {
	Hosts   []string        `json:"hosts"`   // hosts that the run cleans, or makes minions
	Dead    []string        `json:"dead"`    // names that the cluster forgets without any work on their hosts
	Nodes   []string        `json:"nodes"`   // names whose Node objects are deleted
	Members []string        `json:"members"` // names of etcd members that are removed
	Masters []string        `json:"masters"` // hosts that run an API server until they leave
	Proxies []string        `json:"proxies"` // hosts of role proxy
	Former  map[string]Node `json:"former"`  // hosts of the inventory as they are before they leave, by name
	// PeerURLs maps etcd members to their peer URLs, as far as the inventory has them.
	PeerURLs map[string]string `json:"peer_urls"`
	// KeepNodes is true when Hosts are masters that stay in the cluster as minions.
	KeepNodes bool `json:"keep_nodes"`
	// Obsolete lists, by host that stays, the files that only a master has.
	Obsolete map[string][]string `json:"obsolete"`
}

// NewDeparture returns the departure of hosts from a cluster that is resolved with them.
// The run cleans hosts and does not contact dead. A dead name that the cluster does not
// have may be the name of a Node object or of an etcd member.
func NewDeparture(before *Cluster, hosts, dead []string) *Departure {
	d := &Departure{Hosts: orEmpty(hosts), Dead: orEmpty(dead), Nodes: []string{}, Members: []string{}, Masters: []string{}, Proxies: []string{}, Former: map[string]Node{}, PeerURLs: map[string]string{}, Obsolete: map[string][]string{}}
	for _, name := range d.all() {
		n, known := before.Nodes[name]
		if known {
			d.Former[name] = n
		}
		if n.IsNode || !known {
			d.Nodes = append(d.Nodes, name)
		}
		if n.IsEtcd || !known {
			d.Members = append(d.Members, name)
		}
		if n.IsEtcd {
			d.PeerURLs[name] = n.Etcd.PeerURL
		}
		if n.IsMaster {
			d.Masters = append(d.Masters, name)
		}
		if n.IsProxy {
			d.Proxies = append(d.Proxies, name)
		}
	}
	return d
}

// all returns every name that leaves.
func (d *Departure) all() []string { return append(slices.Clone(d.Hosts), d.Dead...) }

// Check returns the reasons why the hosts must not leave that follow from the inventory
// alone: a function of the cluster that no other host would have. before and after are
// the cluster with and without the hosts.
func (d *Departure) Check(before, after *Cluster) Problems {
	var out Problems
	add := func(code, format string, args ...any) {
		out = append(out, Problem{Code: code, Subject: "scale-down", Message: fmt.Sprintf(format, args...)})
	}
	if len(after.Masters) == 0 {
		add("no-master", "no master would be left")
	}
	if len(before.Proxies) > 0 && len(after.Proxies) == 0 {
		add("no-proxy", "no host of role proxy would be left, and clients outside of the cluster use it: give the role to another host first")
	}
	if before.Etcd.Dedicated && !after.Etcd.Dedicated {
		add("no-etcd", "no host of role etcd would be left, and its data would have to move to the masters: give the role to other hosts first")
	}
	if !slices.ContainsFunc(after.NodeNames, func(name string) bool { return takesPods(before.Nodes[name]) }) {
		add("no-node-for-pods", "no node would be left that takes ordinary pods, cluster DNS among them: add a minion first, or set cluster.schedulable_masters: true")
	}
	return out
}

// takesPods reports whether a node has no taint that repels ordinary pods.
func takesPods(n Node) bool {
	return !slices.ContainsFunc(n.Taints, func(t Taint) bool { return t.Effect != "PreferNoSchedule" })
}

// WithoutRoles returns the hosts with the roles of those in leaving removed. Everything
// that [Resolve] decides for the other hosts is then that of a cluster without them.
func WithoutRoles(hosts []Host, leaving []string) []Host {
	out := slices.Clone(hosts)
	for i, h := range out {
		if slices.Contains(leaving, h.Name) {
			out[i].Roles = nil
		}
	}
	return out
}
