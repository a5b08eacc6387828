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
