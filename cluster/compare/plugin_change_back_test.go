package compare_test

import (
	"fmt"
	"strings"
	"testing"

	"deployer/cluster"
	"deployer/cluster/compare"
)

// TestBGPInPlaceOfCalico: a change from Calico to bgp needs pools without encapsulation, addresses in
// the ranges of nodes or outside of all, and the user's word for the end of policies.
func TestBGPInPlaceOfCalico(t *testing.T) {
	used := func(cidr, node string, n int) func(*cluster.Cluster, *compare.InUse) {
		return func(_ *cluster.Cluster, u *compare.InUse) {
			u.Blocks = append(u.Blocks, compare.BlockInUse{CIDR: cidr, Node: node, Used: n})
		}
	}
	pool := func(change func(*compare.PoolInUse)) func(*cluster.Cluster, *compare.InUse) {
		return func(_ *cluster.Cluster, u *compare.InUse) { change(&u.Pools[0]) }
	}
	policies := func(drops bool) func(*cluster.Cluster, *compare.InUse) {
		return func(_ *cluster.Cluster, u *compare.InUse) {
			u.Policies, u.DropsPolicies = []string{"NetworkPolicy web/deny"}, drops
		}
	}
	for name, c := range map[string]struct {
		change func(*cluster.Cluster, *compare.InUse)
		says   []string // parts of the only conflict; empty: none
	}{
		"nothing special":               {func(*cluster.Cluster, *compare.InUse) {}, nil},
		"an own block":                  {used("10.244.3.0/26", "n1", 9), nil},
		"a block outside of all ranges": {used("10.244.200.0/26", "n1", 9), nil},
		"a block of another node":       {used("10.244.4.64/26", "n1", 9), []string{"network.plugin", "pods have addresses in the ranges of other nodes: 10.244.4.64/26 of n1 in 10.244.4.0/24 of n2 (9)", "IPReservation"}},
		"an empty block of another":     {used("10.244.4.64/26", "n1", 0), nil},
		"another pool":                  {used("10.9.0.0/26", "n1", 2), []string{"outside of pod_cidr are in use: 10.9.0.0/26 of n1 (2)", "disable these pools"}},
		"another pool, unused":          {used("10.9.0.0/26", "n1", 0), nil},
		"VXLAN":                         {pool(func(p *compare.PoolInUse) { p.VXLANMode = "CrossSubnet" }), []string{"encapsulates the packets of the pools default-ipv4-ippool (VXLAN CrossSubnet)"}},
		"IPIP":                          {pool(func(p *compare.PoolInUse) { p.IPIPMode = "Always" }), []string{"default-ipv4-ippool (IPIP Always)"}},
		"policies":                      {policies(false), []string{"policies", "enforces no policies", "NetworkPolicy web/deny", "--drop-policies"}},
		"policies, dropped":             {policies(true), nil},
		"racks":                         {func(c *cluster.Cluster, _ *compare.InUse) { c.Network.RackLabel = "rack" }, []string{"network.bgp.rack_label", "behind routers"}},
		"a second family": {func(c *cluster.Cluster, u *compare.InUse) {
			c.PodCIDRs, c.NodePrefixes = append(c.PodCIDRs, "fd00:10:244::/56"), append(c.NodePrefixes, 64)
			for i := range u.Nodes {
				u.Nodes[i].PodCIDR += fmt.Sprintf(",fd00:10:244:%x::/64", i)
			}
			u.Blocks = []compare.BlockInUse{{CIDR: "fd00:10:244:4::40/122", Node: "n1", Used: 1}}
		}, []string{"fd00:10:244:4::40/122 of n1 in fd00:10:244:4::/64 of n2 (1)"}},
		"no API": {func(_ *cluster.Cluster, u *compare.InUse) { u.Pools = nil }, []string{"the API does not answer"}},
	} {
		want := resolve(t, 3, 2)
		found := inUse(want)
		changes(&found)
		set(&found, func(h *compare.HostInUse) { h.Plugin, h.CNI = cluster.PluginCalico, "" })
		found.Pools = []compare.PoolInUse{{Name: "default-ipv4-ippool", CIDR: want.PodCIDRs[0], BlockSize: 26}}
		c.change(want, &found)
		got := compare.Conflicts(want, found)
		text := fmt.Sprint(got)
		if len(c.says) == 0 && len(got) > 0 || len(c.says) > 0 && len(got) != 1 {
			t.Errorf("%s: %s", name, text)
		}
		for _, part := range c.says {
			if !strings.Contains(text, part) {
				t.Errorf("%s: no %q in %s", name, part, text)
			}
		}
		if warned := strings.Contains(fmt.Sprint(compare.Warnings(want, found)), "NetworkPolicy web/deny"); warned != (name == "policies, dropped") {
			t.Errorf("%s: a warning of policies: %v", name, warned)
		}
	}
}
