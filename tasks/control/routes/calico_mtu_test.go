package routes

import (
	"strings"
	"testing"

	"deployer/cluster"
)

// TestCalicoMTU: a warning names the nodes whose interfaces between nodes do not keep calico-node from an MTU
// that is too high for another node, or for their own interface with another name.
func TestCalicoMTU(t *testing.T) {
	node := func(name string, uplinks ...cluster.UplinkMTU) cluster.NodeMTU {
		return cluster.NodeMTU{Name: name, Uplinks: uplinks}
	}
	runs := func(mtu int, n cluster.NodeMTU) cluster.NodeMTU {
		n.Present = mtu
		return n
	}
	bond := cluster.UplinkMTU{Name: "bond0", MTU: 1450}
	for name, tt := range map[string]struct {
		spec  cluster.NetworkSpec
		nodes []cluster.NodeMTU
		want  string // parts of the warning, separated by |; empty: none
	}{
		"the usual MTU":     {cluster.NetworkSpec{}, []cluster.NodeMTU{node("m1", cluster.UplinkMTU{Name: "bond0", MTU: 1500}), node("n1", cluster.UplinkMTU{Name: "bond0", MTU: 9000})}, ""},
		"all nodes find it": {cluster.NetworkSpec{}, []cluster.NodeMTU{node("m1", cluster.UplinkMTU{Name: "ens3", MTU: 1450}), node("n1", cluster.UplinkMTU{Name: "eth0", MTU: 1450})}, ""},
		"a name apart":      {cluster.NetworkSpec{}, []cluster.NodeMTU{node("m1", cluster.UplinkMTU{Name: "bond0", MTU: 1450}), node("n1", cluster.UplinkMTU{Name: "bond0", MTU: 1450})}, "bond0 of m1 has the MTU 1450|on m1, n1,|cluster.network.mtu: 1450"},
		"one node":          {cluster.NetworkSpec{}, []cluster.NodeMTU{node("m1", cluster.UplinkMTU{Name: "eth0", MTU: 1500}), node("n1", cluster.UplinkMTU{Name: "eth0", MTU: 1400})}, "eth0 of n1 has the MTU 1400|on m1,"},
		"VXLAN":             {cluster.NetworkSpec{Calico: cluster.CalicoSpec{Encapsulation: "vxlan"}}, []cluster.NodeMTU{node("m1", cluster.UplinkMTU{Name: "vlan7", MTU: 1450})}, "vlan7 of m1|cluster.network.mtu: 1400"},
		"a pattern":         {cluster.NetworkSpec{Calico: cluster.CalicoSpec{Felix: map[string]any{"mtuIfacePattern": "^bond0$"}}}, []cluster.NodeMTU{node("m1", cluster.UplinkMTU{Name: "bond0", MTU: 1450})}, ""},
		"a node is away":    {cluster.NetworkSpec{}, []cluster.NodeMTU{node("m1", cluster.UplinkMTU{Name: "eth0", MTU: 1400}), {Name: "n1", Unknown: true}}, ""},
		"it has chosen":     {cluster.NetworkSpec{}, []cluster.NodeMTU{runs(1450, node("m1", bond)), runs(1400, node("n1", bond))}, ""},
		"it was wrong":      {cluster.NetworkSpec{}, []cluster.NodeMTU{runs(1500, node("m1", bond)), runs(1450, node("n1", bond))}, "on m1,|cluster.network.mtu: 1450"},
		"one joins":         {cluster.NetworkSpec{}, []cluster.NodeMTU{runs(1450, node("m1", bond)), node("n1", bond)}, "on n1,"},
		"nothing is known":  {cluster.NetworkSpec{}, []cluster.NodeMTU{{Name: "m1", Unknown: true}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			tt.spec.Plugin = cluster.PluginCalico
			c, err := cluster.Resolve(cluster.Spec{Network: tt.spec}, []cluster.Host{
				{Name: "m1", Address: "10.0.0.1", Roles: []string{cluster.RoleMaster}},
				{Name: "n1", Address: "10.0.0.2", Roles: []string{cluster.RoleMinion}},
			})
			if err != nil {
				t.Fatal(err)
			}
			got := calicoMTU(c, tt.nodes)
			if (got == "") != (tt.want == "") {
				t.Fatalf("%q, want %q", got, tt.want)
			}
			for _, part := range strings.Split(tt.want, "|") {
				if !strings.Contains(got, part) {
					t.Errorf("%q lacks %q", got, part)
				}
			}
		})
	}
}
