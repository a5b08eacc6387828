package cluster_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"deployer/cluster"
)

// behindNAT returns hosts that SSH reaches at one address, by a name or at loopback, with node
// addresses from 10.0.0.1.
func behindNAT() []cluster.Host {
	return []cluster.Host{
		{Name: "m1", Address: "198.51.100.7", NodeAddress: "10.0.0.1", ExternalAddress: "203.0.113.1", Roles: []string{"master"}},
		{Name: "m2", Address: "198.51.100.7", NodeAddress: "10.0.0.2", ExternalAddress: "M2.Example.", Roles: []string{"master"}},
		{Name: "m3", Address: "m3.management.example", NodeAddress: "::ffff:10.0.0.3", Roles: []string{"master"}},
		{Name: "n1", Address: "127.0.0.1", NodeAddress: "10.0.0.4", Roles: []string{"minion"}},
		{Name: "p1", Address: "198.51.100.7", NodeAddress: "10.0.0.5", ExternalAddress: "203.0.113.5", Roles: []string{"proxy"}},
	}
}

// TestNodeAddresses: nothing of a cluster depends on the addresses of SSH servers.
func TestNodeAddresses(t *testing.T) {
	spec := cluster.Spec{Containerd: cluster.ContainerdSpec{HTTPSProxy: "http://proxy.example:3128"}}
	apart := behindNAT()
	alone := behindNAT()
	for i := range alone {
		alone[i].Address, alone[i].NodeAddress = alone[i].NodeAddress, ""
	}
	var got [2]string
	for i, hosts := range [][]cluster.Host{apart, alone} {
		c, err := cluster.Resolve(spec, hosts)
		if err != nil {
			t.Fatal(err)
		}
		for name, n := range c.Nodes {
			n.Address = ""
			c.Nodes[name] = n
		}
		data, err := json.Marshal(view{c, c.Nodes})
		if err != nil {
			t.Fatal(err)
		}
		got[i] = string(data)
	}
	if got[0] != got[1] {
		t.Error("a cluster whose hosts have node addresses differs from one whose hosts have only those")
	}
	if strings.Contains(got[0], "198.51.100.7") || strings.Contains(got[0], "management") {
		t.Error("an address of an SSH server is in the cluster")
	}
}

func TestExternalAddresses(t *testing.T) {
	hosts := behindNAT()
	c, err := cluster.Resolve(cluster.Spec{}, hosts)
	if err != nil {
		t.Fatal(err)
	}
	if c.API.External != "https://203.0.113.5:6443" {
		t.Errorf("clients outside use %s, want the proxy's external address", c.API.External)
	}
	if n := c.Nodes["p1"]; n.ProxyExternal != "203.0.113.5:6443" || !slices.Equal(n.ProxyListen, []string{"10.0.0.5:6443"}) {
		t.Errorf("the proxy listens on %v and %q", n.ProxyListen, n.ProxyExternal)
	}
	for host, want := range map[string]string{"m1": "203.0.113.1", "m2": "m2.example", "m3": ""} {
		for _, cert := range c.Nodes[host].Certificates {
			names := slices.Concat(cert.DNS, cert.IPs)
			if cert.Name != "apiserver" {
				if slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, "203.") || n == "m2.example" }) {
					t.Errorf("the certificate %s of %s is for %v", cert.Name, host, names)
				}
				continue
			}
			if !slices.Contains(names, "203.0.113.5") || want != "" && !slices.Contains(names, want) || slices.Contains(names, "") {
				t.Errorf("the API server of %s is known as %v", host, names)
			}
		}
	}
	if c, err = cluster.Resolve(cluster.Spec{}, []cluster.Host{hosts[1], hosts[3]}); err != nil {
		t.Fatal(err)
	}
	if c.API.External != "https://m2.example:6443" {
		t.Errorf("clients outside use %s, want the master's external name", c.API.External)
	}
}
