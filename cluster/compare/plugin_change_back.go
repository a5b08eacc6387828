package compare

import (
	"fmt"
	"net/netip"
	"slices"

	"deployer/cluster"
	"deployer/shortlist"
)

// BlockInUse is a block of Calico's addresses.
type BlockInUse struct {
	CIDR string
	Node string // the node that has the block; empty: none
	Used int    // number of addresses that pods and tunnels have
}

// dropPolicies is the flag that accepts the end of all policies.
const dropPolicies = "--drop-policies"

// bgpInPlaceOfCalico returns the conflicts of the cluster with a change from Calico. Nodes of both plugins
// reach each other by routes to ranges of nodes and to blocks. The plugin bgp gives each node the
// addresses of its range, encapsulates nothing, and enforces no policy.
func bgpInPlaceOfCalico(want *cluster.Cluster, found InUse) []Conflict {
	switch {
	case found.Nodes == nil || found.Pools == nil:
		return []Conflict{{
			Subject: "network.plugin",
			Detail:  "the API does not answer, and the pools and blocks of Calico are not known",
			Fix:     "repair the API servers first: deployer status",
		}}
	case want.Network.RackLabel != "":
		return []Conflict{{
			Subject: "network.bgp.rack_label",
			Detail:  "nodes of other racks are behind routers, and routes to pods lead to their nodes directly while the plugin changes",
			Fix:     "restore network.plugin; another plugin needs a new cluster",
		}}
	}
	out := encapsulatedPools(found)
	out = append(out, otherPools(want, found)...)
	out = append(out, blocksInOtherRanges(want, found)...)
	return append(out, policiesInUse(found)...)
}

// encapsulatedPools returns the conflict of pools whose packets nodes with the plugin bgp do not take.
func encapsulatedPools(found InUse) []Conflict {
	var names []string
	for _, p := range found.Pools {
		switch {
		case mode(p.VXLANMode) != "Never":
			names = append(names, p.Name+" (VXLAN "+p.VXLANMode+")")
		case mode(p.IPIPMode) != "Never":
			names = append(names, p.Name+" (IPIP "+p.IPIPMode+")")
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []Conflict{{
		Subject: "network.plugin",
		Detail:  "Calico encapsulates the packets of the pools " + shortlist.Names(names, maxNames) + ", and nodes with the plugin bgp send and take them as they are",
		Fix:     "restore network.plugin; a cluster in use cannot lose its encapsulation",
	}}
}

// otherPools returns the conflict of addresses that pods have outside of pod_cidr: nodes with the plugin
// bgp would hide the addresses of their pods from them.
func otherPools(want *cluster.Cluster, found InUse) []Conflict {
	var used []string
	for _, b := range found.Blocks {
		block, err := netip.ParsePrefix(b.CIDR)
		if err == nil && b.Used > 0 && !slices.ContainsFunc(prefixes(want.PodCIDRs), func(r netip.Prefix) bool { return contains(r, block) }) {
			used = append(used, fmt.Sprintf("%s of %s (%d)", b.CIDR, b.Node, b.Used))
		}
	}
	if len(used) == 0 {
		return nil
	}
	return []Conflict{{
		Subject: "network.plugin",
		Detail:  "addresses of pools outside of pod_cidr are in use: " + shortlist.Names(used, maxNames),
		Fix:     "disable these pools, start their pods again, and repeat",
	}}
}

// blocksInOtherRanges returns the conflict of addresses that pods of a node have in the range of another
// one, which the plugin bgp would give to pods of that node, too.
func blocksInOtherRanges(want *cluster.Cluster, found InUse) []Conflict {
	var used []string
	for _, b := range found.Blocks {
		block, err := netip.ParsePrefix(b.CIDR)
		if err != nil || b.Used == 0 {
			continue
		}
		for _, n := range rangesInUse(want, found) {
			for _, r := range prefixes(cluster.SplitList(n.PodCIDR)) {
				if n.Name != b.Node && r.Overlaps(block) {
					used = append(used, fmt.Sprintf("%s of %s in %s of %s (%d)", b.CIDR, b.Node, r, n.Name, b.Used))
				}
			}
		}
	}
	if len(used) == 0 {
		return nil
	}
	return []Conflict{{
		Subject: "network.plugin",
		Detail:  "pods have addresses in the ranges of other nodes: " + shortlist.Names(used, maxNames),
		Fix:     "write an IPReservation of Calico with these blocks, start their pods again, and repeat (docs/guides/networks.md, From Calico to bgp)",
	}}
}

// policiesInUse returns the conflict of policies that nobody would enforce, unless the user accepts that.
func policiesInUse(found InUse) []Conflict {
	if len(found.Policies) == 0 || found.DropsPolicies {
		return nil
	}
	return []Conflict{{
		Subject: "policies",
		Detail:  "the plugin bgp enforces no policies, and nobody reads the objects of Calico any more: " + shortlist.Names(found.Policies, maxNames),
		Fix:     "delete them, or accept it with " + dropPolicies + ": NetworkPolicies stay without effect, objects of Calico are deleted",
	}}
}

// droppedPolicies returns a warning that names the policies whose end the user has accepted.
func droppedPolicies(want *cluster.Cluster, found InUse) []string {
	if others, had := otherPlugin(want, found); len(others) == 0 || had != cluster.PluginCalico || want.Network.Plugin != cluster.PluginBGP || len(found.Policies) == 0 || !found.DropsPolicies {
		return nil
	}
	return []string{"the plugin bgp enforces no policies; without effect from the change of each node on: " + shortlist.Names(found.Policies, maxNames)}
}

// prefixes returns the valid ones of some prefixes.
func prefixes(texts []string) []netip.Prefix {
	var out []netip.Prefix
	for _, text := range texts {
		if p, err := netip.ParsePrefix(text); err == nil {
			out = append(out, p)
		}
	}
	return out
}

// contains reports whether all addresses of a prefix are in a range.
func contains(r, p netip.Prefix) bool { return r.Bits() <= p.Bits() && r.Contains(p.Addr()) }
