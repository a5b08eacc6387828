package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"deployer/cluster"
)

// Compare compares what a survey found with the wanted cluster. Observed may cover a part
// of the hosts; hosts without an entry count as not examined and are never Joining because of
// a missing proxy. Only masters and etcd hosts decide about the State.
func Compare(want *cluster.Cluster, found Observed) Result {
	var r Result
	r.State, r.Reason = stateOf(want, found)
	if r.State == New || r.State == Unknown || r.State == Restoring {
		r.Broken = unreachable(want, found)
		return r
	}
	r.Broken, r.Problems = broken(want, found), append(networkMissing(want, found.Nodes), found.Problems...)
	if found.Etcd != nil {
		r.Replacements = Replacements(*found.Etcd, failedHosts(want, found))
	}
	if r.State == Running {
		r.Joining = joining(want, found)
	}
	r.ExtraNodes, r.ExtraMembers = unnamedNodes(want, found.Nodes), unnamedMembers(want, found.Etcd, nil)
	for _, n := range found.Nodes {
		if n.CordonedBy != "" {
			r.LeftCordoned = append(r.LeftCordoned, LeftCordoned{n.Name, n.CordonedBy})
		} else if n.Cordoned {
			r.Cordoned = append(r.Cordoned, n.Name)
		}
	}
	r.Older, r.Newer = versions(want, found)
	return r
}

// keepers returns the hosts that may hold authorities or data of etcd.
func keepers(want *cluster.Cluster) []string {
	var out []string
	for _, name := range want.Order {
		if n := want.Nodes[name]; n.IsMaster || n.IsEtcd {
			out = append(out, name)
		}
	}
	return out
}

// stateOf returns the state of the cluster and its reason.
func stateOf(want *cluster.Cluster, found Observed) (State, string) {
	if hosts := restoring(want, found); len(hosts) > 0 {
		return Restoring, fmt.Sprintf("a restore or readdress of etcd was interrupted on %s while it replaced the data of the members: continue it with deployer resume RUN, and find RUN with deployer runs list",
			strings.Join(hosts, ", "))
	}
	if found.Etcd != nil && found.APIError == "" {
		return Running, ""
	}
	var silent, data []string
	established := found.Etcd != nil
	for _, name := range keepers(want) {
		h, examined := found.Hosts[name]
		if !examined || h.Failure != "" {
			silent = append(silent, name)
			continue
		}
		established = established || h.HasAPIServer
		if h.HasEtcdData {
			data = append(data, name)
		}
	}
	majority := len(want.Etcd.Members)/2 + 1
	switch {
	case found.Etcd != nil:
		return Down, "etcd serves, and no API server answers: " + found.APIError
	case !established && len(silent) > 0:
		return Unknown, fmt.Sprintf("no cluster answers, and %s cannot be examined: the authorities and the data of a cluster may be there", strings.Join(silent, ", "))
	case !established:
		return New, "no host holds an installed cluster"
	case addressesLost(want, found) != "":
		return QuorumLost, addressesLost(want, found)
	case len(data)+len(silent) < majority:
		return QuorumLost, fmt.Sprintf("etcd does not serve, and %d of %d members have lost their data: %d are needed for a majority; deployer etcd backup and deployer etcd restore recover from what is left",
			len(want.Etcd.Members)-len(data), len(want.Etcd.Members), majority)
	case len(data) < majority:
		return QuorumLost, fmt.Sprintf("etcd does not serve, %d of %d members have their data, and %s cannot be examined: bring these hosts back, or restore a backup with deployer etcd restore",
			len(data), len(want.Etcd.Members), strings.Join(silent, ", "))
	}
	return Down, cmp.Or(found.EtcdError, "no etcd member answers")
}

// restoring returns the hosts whose data of etcd is being replaced.
func restoring(want *cluster.Cluster, found Observed) []string {
	var out []string
	for _, name := range want.Order {
		if found.Hosts[name].RestoringEtcd {
			out = append(out, name)
		}
	}
	return out
}

// addressesLost returns the reason why members that have their data do not find each other;
// empty when they do.
func addressesLost(want *cluster.Cluster, found Observed) string {
	var probes []cluster.EtcdProbe
	for _, name := range want.Order {
		if n := want.Nodes[name]; n.IsEtcd {
			h := found.Hosts[name]
			probes = append(probes, cluster.EtcdProbe{Name: name, PeerURL: n.Etcd.PeerURL, HasData: h.HasEtcdData, ListedPeerURL: h.EtcdPeerURL})
		}
	}
	return cluster.EtcdAddressesLost(probes)
}

// joining returns the hosts that the cluster does not have.
func joining(want *cluster.Cluster, found Observed) []string {
	nodes := map[string]bool{}
	for _, n := range found.Nodes {
		nodes[n.Name] = true
	}
	var out []string
	for _, name := range want.Order {
		n := want.Nodes[name]
		h, examined := found.Hosts[name]
		proxy := n.RunsProxyUnit && examined && h.Failure == "" && !h.HasProxyUnit
		if n.IsNode && !nodes[name] || n.IsEtcd && memberOf(found.Etcd, n) == nil || proxy {
			out = append(out, name)
		}
	}
	return out
}

// memberOf returns the member of a host, by its name or its peer URL; nil for none.
func memberOf(live *cluster.EtcdLive, n cluster.Node) *cluster.LiveMember {
	if live == nil {
		return nil
	}
	if m, listed := live.Member(n.Name, n.Etcd.PeerURL); listed {
		return &m
	}
	return nil
}

// strangers returns the members that no host of the inventory has.
func strangers(want *cluster.Cluster, live *cluster.EtcdLive) []cluster.LiveMember {
	if live == nil {
		return nil
	}
	known := map[uint64]bool{}
	for _, n := range want.Nodes {
		if m := memberOf(live, n); n.IsEtcd && m != nil {
			known[m.ID] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(live.Members), func(m cluster.LiveMember) bool { return known[m.ID] })
}

// memberName returns the name of a member, or its peer URLs when it has never started.
func memberName(m cluster.LiveMember) string { return cmp.Or(m.Name, strings.Join(m.PeerURLs, ",")) }

// versions returns the components that are older and newer than wanted. versions compares what
// the hosts have, and the kubelets of nodes whose hosts were not examined.
func versions(want *cluster.Cluster, found Observed) (older, newer []Versioned) {
	var has []cluster.Running
	known := map[string]bool{}
	for host, h := range found.Hosts {
		has, known[host] = append(has, h.Versions...), len(h.Versions) > 0
	}
	for _, n := range found.Nodes {
		if !known[n.Name] {
			has = append(has, cluster.Running{Host: n.Name, Component: "kubelet", Version: n.Version})
		}
	}
	for _, c := range cluster.VersionChanges(has, want.Wanted()) {
		v := Versioned{Host: c.Host, Component: c.Component, Found: c.From, Wanted: c.To}
		if c.Older {
			newer = append(newer, v)
		} else {
			older = append(older, v)
		}
	}
	return older, newer
}
