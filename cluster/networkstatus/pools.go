package networkstatus

import (
	"net/netip"
	"slices"

	"deployer/cluster"
	"deployer/shortlist"
)

// pools returns the use of Calico's pools, and reports those that are missing or used up, and blocks of
// nodes that do not exist.
func (m *comparison) pools() []PoolStatus {
	out := []PoolStatus{}
	if m.cluster.Network.Plugin != cluster.PluginCalico {
		return out
	}
	for _, p := range m.found.Objects.Pools {
		prefix, err := netip.ParsePrefix(p.CIDR)
		if err != nil {
			continue
		}
		one := PoolStatus{Pool: p, Total: addressCount(prefix), TotalBlocks: 1 << min(max(p.BlockSize-prefix.Bits(), 0), maxCountBits)}
		for _, b := range m.found.Objects.Blocks {
			if block, err := netip.ParsePrefix(b.CIDR); err == nil && prefix.Contains(block.Addr()) {
				one.Blocks++
				one.Used += b.Used
			}
		}
		out = append(out, one)
		if one.Blocks >= one.TotalBlocks && !p.Disabled {
			m.report(checkPools, "", "add a pool to cluster.network.calico.pools, then run deployer apply",
				"all %d blocks of pool %s are taken: a node that joins gets no addresses of its own", one.TotalBlocks, p.Name)
		}
	}
	if m.found.Objects.Error != "" {
		return out
	}
	for _, want := range m.cluster.Network.Calico.Pools {
		if !slices.ContainsFunc(out, func(p PoolStatus) bool { return p.Name == want.Name }) {
			m.report(checkPools, "", applyFix, "the cluster has no pool %s", want.Name)
		}
	}
	m.orphans()
	return out
}

// orphans reports the blocks of nodes that do not exist.
func (m *comparison) orphans() {
	var nodes []string
	for _, b := range m.found.Objects.Blocks {
		if _, known := m.found.Objects.Node(b.Node); b.Node != "" && !known && !slices.Contains(nodes, b.Node) {
			nodes = append(nodes, b.Node)
		}
	}
	if len(nodes) > 0 {
		m.report(checkPools, "", "Calico's controllers release them some minutes after the node is gone: kubectl -n kube-system logs deployment/calico-kube-controllers",
			"blocks of addresses belong to nodes that do not exist: %s", shortlist.Names(nodes, shown))
	}
}
