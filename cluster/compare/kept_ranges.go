package compare

import (
	"fmt"
	"net/netip"
	"slices"

	"deployer/cluster"
	"deployer/shortlist"
)

// maxNames is the maximum number of nodes that a text names.
const maxNames = 8

// keptRange is the range of a node in use, which it keeps whatever node_prefix says.
type keptRange struct {
	node string
	cidr netip.Prefix
	pods int // maximum number of pods of its kubelet as the inventory wants it; 0: unlimited
}

// isTooSmall reports whether the kubelet may start more pods than the range has addresses.
func (k keptRange) isTooSmall() bool { return k.pods > 0 && uint64(k.pods) > cluster.PodRoom(k.cidr) }

func (k keptRange) room() string {
	return fmt.Sprintf("%s %s has room for %d pods, and maxPods is %d", k.node, k.cidr, cluster.PodRoom(k.cidr), k.pods)
}

// keptRanges returns the ranges of nodes that have another length than node_prefix, or
// node_prefix_ipv6.
func keptRanges(want *cluster.Cluster, found InUse) []keptRange {
	var out []keptRange
	for _, n := range rangesInUse(want, found) {
		for _, text := range cluster.SplitList(n.PodCIDR) {
			r, err := netip.ParsePrefix(text)
			if node := want.Nodes[n.Name]; err == nil && node.IsNode && r.Bits() != prefixOf(want, text) && !slices.Contains(found.Leaving, n.Name) {
				out = append(out, keptRange{node: n.Name, cidr: r, pods: node.MaxPods()})
			}
		}
	}
	return out
}

// prefixOf returns the prefix length that a node's range of the family of r gets.
func prefixOf(want *cluster.Cluster, r string) int {
	for i, pods := range want.PodCIDRs[1:] {
		if cluster.FamilyOf(pods) == cluster.FamilyOf(r) {
			return want.NodePrefixes[i+1]
		}
	}
	return want.NodePrefix
}

// rangesInUse returns the ranges of the nodes; without an API, those in the configurations of the
// hosts.
func rangesInUse(want *cluster.Cluster, found InUse) []NodeInUse {
	if found.Nodes != nil {
		return found.Nodes
	}
	var out []NodeInUse
	for _, name := range want.Order {
		out = append(out, NodeInUse{Name: name, PodCIDR: found.Hosts[name].PodCIDR})
	}
	return out
}

// podCapacity returns the conflict with nodes whose kubelets the run would allow more pods than
// their ranges have addresses: the others of these pods would stay in ContainerCreating. A pod
// network that is not deployer's may have an address management of its own.
func podCapacity(want *cluster.Cluster, found InUse) []Conflict {
	if want.Network.Plugin != cluster.PluginBGP {
		return nil
	}
	var full []string
	room := uint64(0)
	for _, k := range keptRanges(want, found) {
		if host, inRun := found.Hosts[k.node]; k.isTooSmall() && inRun && host.MaxPods < k.pods {
			full = append(full, k.room())
			if r := cluster.PodRoom(k.cidr); room == 0 || r < room {
				room = r
			}
		}
	}
	if len(full) == 0 {
		return nil
	}
	return []Conflict{{
		Subject: "max_pods",
		Detail:  "nodes keep their ranges of pod addresses, and these are too small for the pods that their kubelets would accept: " + shortlist.Texts(full, maxNames),
		Fix: fmt.Sprintf("lower kubelet.max_pods to %d, or write overrides: {kubelet: {maxPods: %d}} to these hosts; for more pods on a node, let it leave and join again first, "+
			"which gives it a range of /%d (deployer scale-down, then scale-up)", room, room, want.NodePrefix),
	}}
}

// Warnings returns what people should know of a run that may change the cluster: nodes keep their
// pod ranges when node_prefix changes, one of them has too few addresses for the pods that its
// kubelet accepts already, and policies end with Calico.
func Warnings(want *cluster.Cluster, found InUse) []string {
	var kept, full []string
	for _, k := range keptRanges(want, found) {
		kept = append(kept, k.node+" "+k.cidr.String())
		if k.isTooSmall() {
			full = append(full, k.room())
		}
	}
	var out []string
	if len(kept) > 0 {
		out = append(out, fmt.Sprintf("node_prefix %d holds for nodes that join; these keep their ranges: %s", want.NodePrefix, shortlist.Names(kept, maxNames)))
	}
	if len(full) > 0 {
		out = append(out, fmt.Sprintf("kubelets may start more pods than the ranges of their nodes have addresses, and those stay in ContainerCreating: %s; "+
			"lower max_pods, or maxPods in the overrides of these hosts, or let each node leave and join again", shortlist.Texts(full, maxNames)))
	}
	return append(out, droppedPolicies(want, found)...)
}
