package cluster_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/cluster"
)

// withCalico resolves a cluster with Calico.
func withCalico(t *testing.T, network cluster.NetworkSpec, hosts []cluster.Host) *cluster.Cluster {
	t.Helper()
	network.Plugin = cluster.PluginCalico
	return mustResolve(t, cluster.Spec{Network: network, PodCIDR: "10.128.0.0/12"}, hosts)
}

// TestTyphaHosts checks the number of Typha processes and that masters come first.
func TestTyphaHosts(t *testing.T) {
	for _, c := range []struct {
		typha            string
		masters, minions int
		want             int
	}{
		{"", 3, 47, 0},
		{"", 3, 48, 3},
		{"never", 3, 97, 0},
		{"always", 1, 0, 1},
		{"always", 1, 2, 2},
		{"always", 3, 2, 3},
		{"", 3, 397, 4},
		{"", 3, 997, 7},
	} {
		got := withCalico(t, cluster.NetworkSpec{Calico: cluster.CalicoSpec{Typha: c.typha}}, fleet(masters(c.masters), hosts("n", 1000, c.minions, "minion")))
		typha := got.Network.Calico.Typha
		if len(typha) != c.want {
			t.Errorf("%s with %d nodes: Typha on %v, want %d", c.typha, c.masters+c.minions, typha, c.want)
		}
		for i, name := range typha {
			node := got.Nodes[name]
			if !node.RunsTypha || i < c.masters && !node.IsMaster {
				t.Errorf("%s with %d nodes: %s is among %v", c.typha, c.masters+c.minions, name, typha)
			}
			if !slices.ContainsFunc(node.Certificates, func(c cluster.Certificate) bool {
				return c.Name == "calico-typha" && slices.Contains(c.Usages, "server")
			}) {
				t.Errorf("%s has no certificate for Typha", name)
			}
		}
	}
}

// TestEncapsulationOfCalico checks backend and modes of each encapsulation.
func TestEncapsulationOfCalico(t *testing.T) {
	want := map[string][3]string{
		"none": {"bird", "Never", "Never"}, "ipip": {"bird", "Always", "Never"}, "ipip-cross-subnet": {"bird", "CrossSubnet", "Never"},
		"vxlan": {"vxlan", "Never", "Always"}, "vxlan-cross-subnet": {"vxlan", "Never", "CrossSubnet"},
	}
	for _, encapsulation := range cluster.Encapsulations() {
		c := withCalico(t, cluster.NetworkSpec{Calico: cluster.CalicoSpec{Encapsulation: encapsulation}}, masters(1)).Network.Calico
		if got := [3]string{c.Backend, c.Pools[0].IPIPMode, c.Pools[0].VXLANMode}; got != want[encapsulation] {
			t.Errorf("%s: %v, want %v", encapsulation, got, want[encapsulation])
		}
	}
}

func TestPlanCalicoTransition(t *testing.T) {
	mesh := withCalico(t, cluster.NetworkSpec{}, fleet(masters(3), minions(2))).WantedCalicoRoutes()
	reflected := withCalico(t, cluster.NetworkSpec{Reflectors: []string{"m1", "m2"}}, fleet(masters(3), minions(2))).WantedCalicoRoutes()
	if diff := cmp.Diff([]string{"deployer-reflectors", "deployer-clients-of-m1", "deployer-clients-of-m2"}, reflected.Peers); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string][]string{"m3": {"m1", "m2"}, "n1": {"m1", "m2"}, "n2": {"m1", "m2"}}, reflected.Clients); diff != "" {
		t.Error(diff)
	}
	interrupted := reflected
	interrupted.Peers = append(slices.Clone(reflected.Peers), cluster.PeerTransition)
	other := withCalico(t, cluster.NetworkSpec{Reflectors: []string{"m2", "m3"}}, fleet(masters(3), minions(2))).WantedCalicoRoutes()
	for name, c := range map[string]struct {
		want, have    cluster.CalicoRoutes
		needed        bool
		become, leave []string
	}{
		"a new cluster":        {reflected, cluster.CalicoRoutes{New: true, Mesh: true}, false, []string{}, []string{}},
		"unchanged mesh":       {mesh, mesh, false, []string{}, []string{}},
		"unchanged reflectors": {reflected, reflected, false, []string{}, []string{}},
		"mesh to reflectors":   {reflected, mesh, true, []string{"m1", "m2"}, []string{}},
		"reflectors to mesh":   {mesh, reflected, true, []string{}, []string{"m1", "m2"}},
		"another reflector":    {other, reflected, true, []string{"m3"}, []string{"m1"}},
		"killed in the middle": {reflected, interrupted, true, []string{}, []string{}},
	} {
		got := cluster.PlanCalicoTransition(c.want, c.have)
		if diff := cmp.Diff(cluster.CalicoTransition{Needed: c.needed, Become: c.become, Leave: c.leave}, got); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}
