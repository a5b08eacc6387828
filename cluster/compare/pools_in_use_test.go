package compare

import (
	"strings"
	"testing"

	"deployer/cluster"
)

func TestPoolsInUse(t *testing.T) {
	want := &cluster.Cluster{Network: cluster.Network{Plugin: cluster.PluginCalico, Calico: cluster.Calico{Pools: []cluster.ResolvedPool{
		{Name: "default-ipv4-ippool", CIDR: "10.244.0.0/16", BlockSize: 26, IPIPMode: "Never", VXLANMode: "Never"},
		{Name: "rack-a", CIDR: "10.245.0.0/16", BlockSize: 26, IPIPMode: "Never", VXLANMode: "Never"},
	}}}}
	same := PoolInUse{Name: "default-ipv4-ippool", CIDR: "10.244.0.0/16", BlockSize: 26, IPIPMode: "Never"}
	for name, c := range map[string]struct {
		change func(*PoolInUse)
		says   string
	}{
		"unchanged":     {func(*PoolInUse) {}, ""},
		"another name":  {func(p *PoolInUse) { p.Name, p.CIDR = "mine", "10.9.0.0/16" }, ""},
		"another range": {func(p *PoolInUse) { p.CIDR = "10.244.0.0/15" }, "has the range 10.244.0.0/15, and the inventory says 10.244.0.0/16"},
		"another size":  {func(p *PoolInUse) { p.BlockSize = 27 }, "block_size 27, and the inventory says 26"},
		"it was VXLAN":  {func(p *PoolInUse) { p.VXLANMode = "Always" }, "VXLAN Always, and the inventory says Never"},
		"it was IPIP":   {func(p *PoolInUse) { p.IPIPMode = "CrossSubnet" }, "IPIP CrossSubnet, and the inventory says Never"},
	} {
		had := same
		c.change(&had)
		got := poolChanges(want, InUse{Pools: []PoolInUse{had}})
		switch {
		case c.says == "" && len(got) > 0:
			t.Errorf("%s: %v", name, got)
		case c.says != "" && (len(got) != 1 || !strings.Contains(got[0].Detail, c.says)):
			t.Errorf("%s: %v, want one that says %q", name, got, c.says)
		}
	}
}

// TestPoolsOverlap: no pool of the inventory may share addresses with a pool of the cluster that has another
// name, or with blocks that a former pool has left in another size.
func TestPoolsOverlap(t *testing.T) {
	pool := func(name, cidr string, blockSize int) cluster.ResolvedPool {
		return cluster.ResolvedPool{Name: name, CIDR: cidr, BlockSize: blockSize, IPIPMode: "Never", VXLANMode: "Never"}
	}
	had := func(name, cidr string, blockSize int) PoolInUse {
		return PoolInUse{Name: name, CIDR: cidr, BlockSize: blockSize}
	}
	standard, inUse := pool("default-ipv4-ippool", "10.244.0.0/16", 26), had("default-ipv4-ippool", "10.244.0.0/16", 26)
	for name, c := range map[string]struct {
		want  []cluster.ResolvedPool
		found InUse
		says  []string // a part of each conflict
	}{
		"the same pools": {[]cluster.ResolvedPool{standard, pool("rack-a", "10.245.0.0/16", 27)}, InUse{Pools: []PoolInUse{inUse, had("rack-a", "10.245.0.0/16", 27)}}, nil},
		"renamed, with other blocks": {
			[]cluster.ResolvedPool{standard, pool("rack-b", "10.245.0.0/16", 28)}, InUse{Pools: []PoolInUse{inUse, had("rack-a", "10.245.0.0/16", 27)}},
			[]string{"the pool rack-b of the inventory has the range 10.245.0.0/16, and the cluster has a pool rack-a with 10.245.0.0/16: both would give out the same addresses, in blocks of /28 and /27"},
		},
		"renamed only": {
			[]cluster.ResolvedPool{standard, pool("rack-b", "10.245.0.0/16", 27)}, InUse{Pools: []PoolInUse{inUse, had("rack-a", "10.245.0.0/16", 27)}},
			[]string{"a pool rack-a with"},
		},
		"renamed and wider": {
			[]cluster.ResolvedPool{standard, pool("rack-b", "10.245.0.0/16", 27)}, InUse{Pools: []PoolInUse{inUse, had("rack-a", "10.245.8.0/24", 27)}},
			[]string{"a pool rack-a with 10.245.8.0/24"},
		},
		"renamed and narrower": {
			[]cluster.ResolvedPool{standard, pool("rack-b", "10.245.8.0/24", 27)}, InUse{Pools: []PoolInUse{inUse, had("rack-a", "10.245.0.0/16", 27)}},
			[]string{"a pool rack-a with 10.245.0.0/16"},
		},
		"one of the user in two of the inventory": {
			[]cluster.ResolvedPool{standard, pool("rack-a", "10.245.0.0/16", 27)}, InUse{Pools: []PoolInUse{inUse, had("mine", "10.244.0.0/15", 26)}},
			[]string{"the pool default-ipv4-ippool of the inventory", "the pool rack-a of the inventory"},
		},
		"renamed, IPv6": {
			[]cluster.ResolvedPool{pool("new", "fd00:10:245::/64", 122)}, InUse{Pools: []PoolInUse{had("old", "fd00:10:245::/64", 124)}},
			[]string{"in blocks of /122 and /124"},
		},
		"a swap of two ranges is a change of each": {
			[]cluster.ResolvedPool{pool("a", "10.1.0.0/16", 26), pool("b", "10.2.0.0/16", 26)}, InUse{Pools: []PoolInUse{had("a", "10.2.0.0/16", 26), had("b", "10.1.0.0/16", 26)}},
			[]string{"the pool a has the range 10.2.0.0/16", "the pool b has the range 10.1.0.0/16"},
		},
		"next to a pool of the user": {[]cluster.ResolvedPool{standard}, InUse{Pools: []PoolInUse{inUse, had("mine", "10.245.0.0/16", 26)}}, nil},
		"the other family":           {[]cluster.ResolvedPool{standard}, InUse{Pools: []PoolInUse{inUse, had("mine", "::/0", 122)}}, nil},
		"renamed, the former one and its blocks are gone": {
			[]cluster.ResolvedPool{standard, pool("rack-b", "10.245.0.0/16", 28)}, InUse{Pools: []PoolInUse{inUse}, Blocks: []BlockInUse{{CIDR: "10.244.1.0/26", Node: "n1", Used: 9}}}, nil,
		},
		"renamed, blocks of the former one are left": {
			[]cluster.ResolvedPool{standard, pool("rack-b", "10.245.0.0/16", 28)}, InUse{Pools: []PoolInUse{inUse}, Blocks: []BlockInUse{{CIDR: "10.245.1.0/27", Node: "n1", Used: 9}}},
			[]string{"the pool rack-b has blocks of /28, and a former pool has left others in its range 10.245.0.0/16: 10.245.1.0/27 (9 in use)"},
		},
		"blocks that are left have the size": {
			[]cluster.ResolvedPool{standard, pool("rack-b", "10.245.0.0/16", 27)}, InUse{Pools: []PoolInUse{inUse}, Blocks: []BlockInUse{{CIDR: "10.245.1.0/27", Node: "n1", Used: 9}}}, nil,
		},
		"blocks of the former pool, which is left, too": {
			[]cluster.ResolvedPool{standard, pool("rack-b", "10.245.0.0/16", 28)},
			InUse{Pools: []PoolInUse{inUse, had("rack-a", "10.245.0.0/16", 27)}, Blocks: []BlockInUse{{CIDR: "10.245.1.0/27", Node: "n1", Used: 9}}},
			[]string{"a pool rack-a with"},
		},
		"all pools were deleted": {
			[]cluster.ResolvedPool{pool("default-ipv4-ippool", "10.244.0.0/16", 27)}, InUse{Blocks: []BlockInUse{{CIDR: "10.244.1.0/26", Node: "n1", Used: 9}}},
			[]string{"a former pool has left others in its range 10.244.0.0/16"},
		},
		"a new cluster": {[]cluster.ResolvedPool{standard}, InUse{}, nil},
	} {
		got := poolChanges(&cluster.Cluster{Network: cluster.Network{Plugin: cluster.PluginCalico, Calico: cluster.Calico{Pools: c.want}}}, c.found)
		if len(got) != len(c.says) {
			t.Errorf("%s: %v, want %q", name, got, c.says)
			continue
		}
		for i, says := range c.says {
			if !strings.Contains(got[i].Detail, says) || got[i].Fix == "" {
				t.Errorf("%s: %v, want one that says %q", name, got[i], says)
			}
		}
	}
}
