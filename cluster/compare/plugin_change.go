package compare

import (
	"fmt"
	"net/netip"
	"slices"

	"deployer/cluster"
	"deployer/shortlist"
)

// changePlugin is the command that changes the network plugin of a cluster in use.
const changePlugin = "deployer network change-plugin"

// pluginChange returns the conflict of network.plugin, or else of network.cni, with what nodes in
// use have. Pods that run stay connected by the former plugin, and pods of both on one node do not
// reach each other. Only a run of change-plugin replaces the plugin: bgp by calico, or calico by bgp.
func pluginChange(want *cluster.Cluster, found InUse) []Conflict {
	others, had := otherPlugin(want, found)
	switch {
	case len(others) == 0:
		return cniChange(want, found)
	case found.ChangesPlugin && usesEtcd(want, found):
		return []Conflict{{
			Subject: "network.calico.datastore",
			Detail:  "network change-plugin works with the objects of Calico in the Kubernetes API only, and they are, or would be, in etcd",
			Fix:     "set network.calico.datastore: kubernetes for a change to Calico; a change from Calico with etcd needs a new cluster",
		}}
	case found.ChangesPlugin && had == cluster.PluginBGP && want.Network.Plugin == cluster.PluginCalico:
		return calicoInPlaceOfBGP(want, found)
	case found.ChangesPlugin && had == cluster.PluginCalico && want.Network.Plugin == cluster.PluginBGP:
		return bgpInPlaceOfCalico(want, found)
	}
	c := Conflict{
		Subject: "network.plugin",
		Detail:  fmt.Sprintf("network.plugin is %s, and %s installed with %s: pods that run would keep their former network, and lose their routes", want.Network.Plugin, subject(want, found, others), had),
		Fix:     "restore network.plugin; another plugin needs a new cluster",
	}
	if had != cluster.PluginNone && want.Network.Plugin != cluster.PluginNone {
		c.Fix = "restore network.plugin, or change it with " + changePlugin + ", which drains one node after the other and starts its pods again"
	}
	return []Conflict{c}
}

// otherPlugin returns the hosts in use with another plugin than the wanted one, in inventory order,
// and the plugin of the first. A host without files of a plugin has lost them when others have those
// of the wanted one, and gets them again.
func otherPlugin(want *cluster.Cluster, found InUse) (hosts []string, plugin string) {
	begun := hasPlugin(want, found)
	for _, name := range want.Order {
		has := found.Hosts[name].Plugin
		if has == "" || has == want.Network.Plugin || begun && has == cluster.PluginNone {
			continue
		}
		hosts = append(hosts, name)
		if plugin == "" {
			plugin = has
		}
	}
	return hosts, plugin
}

// hasPlugin reports whether a host in use has the wanted plugin.
func hasPlugin(want *cluster.Cluster, found InUse) bool {
	return slices.ContainsFunc(want.Order, func(name string) bool { return found.Hosts[name].Plugin == want.Network.Plugin })
}

// subject names the cluster, or the hosts that an unfinished change has left.
func subject(want *cluster.Cluster, found InUse, others []string) string {
	switch {
	case !hasPlugin(want, found):
		return "the cluster was"
	case len(others) == 1:
		return others[0] + " was"
	}
	return shortlist.Names(others, maxNames) + " were"
}

// calicoInPlaceOfBGP returns the conflict of the inventory with a change from bgp. Nodes of both plugins
// reach each other by routes to the ranges of nodes, so a node keeps its range, as blocks of Calico, and
// packets travel as they are.
func calicoInPlaceOfBGP(want *cluster.Cluster, found InUse) []Conflict {
	if slices.ContainsFunc(want.Network.Calico.Pools, func(p cluster.ResolvedPool) bool { return p.IPIPMode != "Never" || p.VXLANMode != "Never" }) {
		return []Conflict{{
			Subject: "network.calico",
			Detail:  "the inventory encapsulates the packets of pods, and nodes with the plugin bgp send and take them as they are",
			Fix:     "set network.calico.encapsulation: none; a cluster in use cannot get an encapsulation",
		}}
	}
	return blocksOfRanges(want, found)
}

// blocksOfRanges returns the conflict of block sizes with ranges of nodes that are smaller.
func blocksOfRanges(want *cluster.Cluster, found InUse) []Conflict {
	var small []string
	size := 0
	for _, n := range rangesInUse(want, found) {
		for _, r := range prefixes(cluster.SplitList(n.PodCIDR)) {
			for _, pool := range want.Network.Calico.Pools {
				if !slices.ContainsFunc(prefixes([]string{pool.CIDR}), func(p netip.Prefix) bool { return contains(p, r) }) {
					continue
				}
				if want.Nodes[n.Name].IsNode && r.Bits() > pool.BlockSize {
					small, size = append(small, n.Name+" "+r.String()), pool.BlockSize
				}
			}
		}
	}
	if len(small) == 0 {
		return nil
	}
	return []Conflict{{
		Subject: "network.calico",
		Detail:  fmt.Sprintf("a block of Calico (/%d) is larger than the range of a node: %s", size, shortlist.Names(small, maxNames)),
		Fix:     "set network.calico.block_size, for IPv6 block_size_ipv6, to at least the prefix length of these ranges",
	}}
}

// cniChange returns the conflict of network.cni with the plugin that connects the pods of nodes in
// use.
func cniChange(want *cluster.Cluster, found InUse) []Conflict {
	if want.Network.Plugin != cluster.PluginBGP {
		return nil
	}
	others := unanimous(want, found, func(h HostInUse) string { return h.CNI }, want.Network.CNI)
	if others == "" {
		return nil
	}
	return []Conflict{{
		Subject: "network.cni",
		Detail:  fmt.Sprintf("network.cni is %s, and the pods of the cluster are connected by %s: pods that run would keep it, and reach no new pod of their node", want.Network.CNI, others),
		Fix:     "restore network.cni; another plugin needs a new cluster",
	}}
}
