package cluster_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"deployer/cluster"
)

// TestNetworkNone: nothing of deployer's pod network is on a host whose network comes from
// elsewhere, while nodes keep their pod ranges and everything else.
func TestNetworkNone(t *testing.T) {
	var s cluster.Spec
	s.Network.Plugin = cluster.PluginNone
	c, err := cluster.Resolve(s, []cluster.Host{
		{Name: "m1", Address: "192.0.2.1", Roles: []string{cluster.RoleMaster}},
		{Name: "n1", Address: "192.0.2.2", Roles: []string{cluster.RoleMinion}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if c.Network.Authentication != cluster.AuthenticationNone || c.Network.Mesh || len(c.Network.Reflectors) > 0 {
		t.Errorf("BGP: %+v", c.Network)
	}
	n := c.Nodes["n1"]
	if n.Effects.CNI != "" || n.Effects.Rules || len(n.BGP.Peers) > 0 {
		t.Errorf("effects %+v, BGP %+v", n.Effects, n.BGP)
	}
	for _, unit := range n.Units {
		if strings.Contains(unit, "bird") || strings.Contains(unit, "pods") {
			t.Errorf("unit %s", unit)
		}
	}
	for _, p := range n.Packages["debian"] {
		if strings.HasPrefix(p, "bird") {
			t.Errorf("package %s", p)
		}
	}
	for _, r := range n.Requirements {
		if r.Name == "bgp" || r.Name == "tcp_md5" {
			t.Errorf("requirement %+v", r)
		}
	}
	for _, o := range n.Owned {
		for _, file := range []string{"bird.conf", "pods.nft", "deployer-bird.service"} {
			if slices.Contains(o.Keep, file) {
				t.Errorf("%s keeps %s", o.Path, file)
			}
		}
	}
	if len(c.PodCIDRs) != 1 || len(n.Images) == 0 {
		t.Errorf("pod ranges %q, images %v", c.PodCIDRs, n.Images)
	}
}

// TestKubeProxyNone: nothing of kube-proxy is on a host whose network forwards the traffic of
// Services.
func TestKubeProxyNone(t *testing.T) {
	var s cluster.Spec
	s.Network.Plugin, s.KubeProxy.Mode = cluster.PluginNone, cluster.KubeProxyNone
	c, err := cluster.Resolve(s, []cluster.Host{{Name: "m1", Address: "192.0.2.1", Roles: []string{cluster.RoleMaster}}})
	if err != nil {
		t.Fatal(err)
	}
	n := c.Nodes["m1"]
	if n.RunsKubeProxy || n.Versions.KubeProxy != "" || len(n.KubeProxyConfig)+len(n.Args.KubeProxy)+len(n.Mounts.KubeProxy) > 0 {
		t.Errorf("it runs: %t, version %q, configuration %v, flags %v", n.RunsKubeProxy, n.Versions.KubeProxy, n.KubeProxyConfig, n.Args.KubeProxy)
	}
	text := fmt.Sprint(n.Images, n.Certificates, n.Kubeconfigs, n.Health, n.Requirements, n.Effects, n.Owned)
	if strings.Contains(text, "kube-proxy") {
		t.Errorf("kube-proxy is left: %s", text)
	}
}
