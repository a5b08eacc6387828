package cluster_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/cluster"
)

// dualStack gives a cluster ranges of both families, and its hosts addresses, before change.
func dualStack(change func(*cluster.Spec, []cluster.Host)) func(*cluster.Spec, *[]cluster.Host) {
	return func(s *cluster.Spec, hosts *[]cluster.Host) {
		s.PodCIDR, s.ServiceCIDR = "10.244.0.0/16,fd00:1::/56", "10.96.0.0/16,fd00:2::/112"
		for i := range *hosts {
			h := &(*hosts)[i]
			h.NodeAddress = fmt.Sprintf("%s,fd00::%x", h.Address, i+1)
		}
		change(s, *hosts)
	}
}

// ipv6 gives a cluster and its hosts IPv6 addresses alone, before change.
func ipv6(change func(*cluster.Spec, []cluster.Host)) func(*cluster.Spec, *[]cluster.Host) {
	return func(s *cluster.Spec, hosts *[]cluster.Host) {
		s.PodCIDR, s.ServiceCIDR = "fd00:1::/56", "fd00:2::/112"
		for i := range *hosts {
			(*hosts)[i].Address = fmt.Sprintf("fd00::%x", i+1)
		}
		change(s, *hosts)
	}
}

// TestIPv6: everything that other hosts reach has the IPv6 address, in brackets beside a port.
func TestIPv6(t *testing.T) {
	spec, hosts := cluster.Spec{}, fleet(masters(3), minions(1), hosts("p", 31, 1, "proxy"))
	ipv6(func(*cluster.Spec, []cluster.Host) {})(&spec, &hosts)
	c := mustResolve(t, spec, hosts)
	m1 := c.Nodes["m1"]
	for what, got := range map[string]struct{ want, got any }{
		"addresses":     {[]string{"fd00::1"}, m1.IPs},
		"etcd":          {"https://[fd00::1]:2379", m1.Etcd.ClientURL},
		"members":       {"m1=https://[fd00::1]:2380,m2=https://[fd00::2]:2380,m3=https://[fd00::3]:2380", c.Etcd.InitialCluster},
		"API proxy":     {[]string{"[fd00::5]:6443"}, c.Nodes["p1"].ProxyListen},
		"backends":      {"[fd00::1]:6443", c.Proxy.Backends[0].HostPort},
		"clients":       {"https://[fd00::5]:6443", c.API.External},
		"DNS":           {"fd00:2::a", c.DNS.IP},
		"node prefixes": {[]int{64}, c.NodePrefixes},
		"BGP":           {[]string{"", "fd00::1"}, []string{m1.BGP.IPv4, m1.BGP.IPv6}},
		"families":      {[]string{cluster.FamilyIPv6}, c.Families},
	} {
		if diff := cmp.Diff(got.want, got.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
}

// TestDualStack: nodes, components and certificates have both families, IPv4 first. etcd, and the
// connections between components, use the primary address only.
func TestDualStack(t *testing.T) {
	spec, hosts := cluster.Spec{}, fleet(masters(3), minions(1), hosts("p", 31, 1, "proxy"))
	dualStack(func(s *cluster.Spec, _ []cluster.Host) {
		s.Network.HostFirewall.Enabled = true
		s.Containerd.HTTPProxy = "http://proxy.example:3128"
	})(&spec, &hosts)
	c := mustResolve(t, spec, hosts)
	m1, p1 := c.Nodes["m1"], c.Nodes["p1"]
	v4, v6 := m1.IP, "fd00::1"
	for what, got := range map[string]struct{ want, got any }{
		"addresses":        {[]string{v4, v6}, m1.IPs},
		"node prefixes":    {[]int{24, 64}, c.NodePrefixes},
		"DNS":              {[]string{"10.96.0.10", "fd00:2::a"}, c.DNS.IPs},
		"proxy":            {[]string{p1.IP + ":6443", "[fd00::5]:6443"}, p1.ProxyListen},
		"BGP":              {[]string{v4, v6}, []string{m1.BGP.IPv4, m1.BGP.IPv6}},
		"peer":             {cluster.Peer{Name: "n1", IP: c.Nodes["n1"].IP, IPv4: c.Nodes["n1"].IP, IPv6: "fd00::4", RouterID: c.Nodes["n1"].IP}, m1.BGP.Peers[2]},
		"forwarding":       {"1", c.Sysctls["net.ipv6.conf.all.forwarding"]},
		"kube-proxy":       {"10.244.0.0/16,fd00:1::/56", m1.KubeProxyConfig["clusterCIDR"]},
		"filter":           {[]string{"fd00:1::/56", "fd00::/64"}, c.HostFirewall.Kubelet.IPv6},
		"filter of etcd":   {[]string{}, c.HostFirewall.Etcd.IPv6},
		"etcd":             {"https://" + v4 + ":2379", m1.Etcd.ClientURL},
		"etcd certificate": {[]string{v4, "127.0.0.1", "::1"}, certificate(t, m1, "etcd/server").IPs},
		"kubelet":          {[]string{v4, "127.0.0.1", "::1", v6}, certificate(t, m1, "kubelet-serving").IPs},
		"API server":       {[]string{v4, "127.0.0.1", "::1", v6, "10.96.0.1", "fd00:2::1", p1.IP, "fd00::5"}, certificate(t, m1, "apiserver").IPs},
	} {
		if diff := cmp.Diff(got.want, got.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	for _, flag := range []string{"--node-ip=" + v4 + "," + v6, "--service-cluster-ip-range=10.96.0.0/16,fd00:2::/112", "--cluster-cidr=10.244.0.0/16,fd00:1::/56", "--advertise-address=" + v4} {
		if !slices.Contains(slices.Concat(m1.Args.Kubelet, m1.Args.APIServer, m1.Args.ControllerManager), flag) {
			t.Errorf("no flag %s", flag)
		}
	}
	if !strings.Contains(c.Containerd.Proxy.NoProxy, "10.244.0.0/16,fd00:1::/56,10.96.0.0/16,fd00:2::/112,") {
		t.Errorf("no proxy for %s", c.Containerd.Proxy.NoProxy)
	}
	if !slices.ContainsFunc(m1.Requirements, func(r cluster.Requirement) bool { return r.Kind == cluster.RequireAddress && r.Address == v6 }) {
		t.Error("preflight does not look for the second address")
	}
}

// TestSecondAddressOfSingleStack: addresses of both families may be written before the cluster has
// both, and change nothing until then.
func TestSecondAddressOfSingleStack(t *testing.T) {
	plain := mustResolve(t, cluster.Spec{}, fleet(masters(1), minions(1)))
	spec, hosts := cluster.Spec{}, fleet(masters(1), minions(1))
	dualStack(func(s *cluster.Spec, _ []cluster.Host) { s.PodCIDR, s.ServiceCIDR = "", "" })(&spec, &hosts)
	if diff := cmp.Diff(plain, mustResolve(t, spec, hosts)); diff != "" {
		t.Error(diff)
	}
}

func certificate(t *testing.T, n cluster.Node, name string) cluster.Certificate {
	t.Helper()
	i := slices.IndexFunc(n.Certificates, func(c cluster.Certificate) bool { return c.Name == name })
	if i < 0 {
		t.Fatalf("%s has no certificate %s", n.Name, name)
	}
	return n.Certificates[i]
}

// TestAllocatePodRanges: each family is kept and filled on its own; a node of a cluster that was
// single-stack gets a range of the second family beside the one that it has.
func TestAllocatePodRanges(t *testing.T) {
	c := &cluster.Cluster{PodCIDRs: []string{"10.244.0.0/16", "fd00:1::/56"}, NodePrefixes: []int{24, 64}}
	got, err := c.AllocatePodRanges([]cluster.PodRange{
		{Name: "old", IsNode: true, InAPI: "10.244.5.0/24", OnHost: "10.244.5.0/24"},
		{Name: "both", IsNode: true, InAPI: "10.244.0.0/24,fd00:1::/64"},
		{Name: "gone", IsNode: true, InAPI: "10.244.1.0/24,fd00:1:0:1::/64", Gone: true},
		{Name: "new", OnHost: "10.9.0.0/24,fd00:9::/64"},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{"old": {"10.244.5.0/24", "fd00:1:0:2::/64"}, "both": {"10.244.0.0/24", "fd00:1::/64"}, "new": {"10.244.2.0/24", "fd00:1:0:3::/64"}}
	if diff := cmp.Diff(want, got.Ranges); diff != "" {
		t.Error(diff)
	}
	moved := "its range 10.9.0.0/24 is not a /24 of 10.244.0.0/16; it gets 10.244.2.0/24; its range fd00:9::/64 is not a /64 of fd00:1::/56; it gets fd00:1:0:3::/64"
	if got.Moved["new"] != moved || len(got.Moved) != 1 {
		t.Errorf("moved: %v", got.Moved)
	}
}

// TestCalicoPoolsOfBothFamilies: IPIP carries IPv4 only, and VXLAN both.
func TestCalicoPoolsOfBothFamilies(t *testing.T) {
	for encapsulation, want := range map[string]cluster.ResolvedPool{
		cluster.EncapsulationIPIP:  {IPIPMode: "Never", VXLANMode: "Never"},
		cluster.EncapsulationVXLAN: {IPIPMode: "Never", VXLANMode: "Always"},
	} {
		spec, hosts := cluster.Spec{}, fleet(masters(1), minions(1))
		dualStack(func(s *cluster.Spec, _ []cluster.Host) {
			s.Network.Plugin, s.Network.Calico.Encapsulation = cluster.PluginCalico, encapsulation
		})(&spec, &hosts)
		c := mustResolve(t, spec, hosts)
		want.Name, want.CIDR, want.BlockSize, want.NATOutgoing, want.NodeSelector = "default-ipv6-ippool", "fd00:1::/56", 122, true, "all()"
		if diff := cmp.Diff(want, c.Network.Calico.Pools[1]); diff != "" || len(c.Network.Calico.Pools) != 2 {
			t.Errorf("%s: %s", encapsulation, diff)
		}
		if c.Network.Calico.Felix["ipv6Support"] != true {
			t.Errorf("%s: Felix does not support IPv6", encapsulation)
		}
	}
}
