package cluster_test

import (
	"slices"
	"strings"
	"testing"

	"deployer/cluster"
)

// names returns the names of endpoints.
func names(list []cluster.Endpoint) []string {
	var out []string
	for _, e := range list {
		out = append(out, e.Name)
	}
	return out
}

// TestVirtualIPHolders: load balancers hold the address or, without any, masters, and at least three
// hosts decide which of them.
func TestVirtualIPHolders(t *testing.T) {
	for name, tt := range map[string]struct {
		hosts              []cluster.Host
		holders, witnesses []string
		majority           int
		url                string
	}{
		"masters":          {fleet(masters(3), minions(2)), []string{"m1", "m2", "m3"}, []string{"m1", "m2", "m3"}, 2, "https://172.31.0.100:6443"},
		"proxies":          {fleet(masters(3), hosts("p", 30, 2, "proxy")), []string{"p1", "p2"}, []string{"m1", "m2", "m3", "p1", "p2"}, 3, "https://172.31.0.100:6443"},
		"one master":       {fleet(masters(1), hosts("p", 30, 2, "proxy"), minions(2)), []string{"p1", "p2"}, []string{"m1", "p1", "p2"}, 2, "https://172.31.0.100:6443"},
		"etcd apart":       {fleet(masters(2), hosts("e", 20, 3, "etcd"), minions(2)), []string{"m1", "m2"}, []string{"m1", "m2", "e1"}, 2, "https://172.31.0.100:6443"},
		"a single holder":  {fleet(masters(1), minions(3)), []string{"m1"}, []string{"m1", "n1", "n2"}, 2, "https://172.31.0.100:6443"},
		"a single host":    {masters(1), []string{"m1"}, []string{"m1"}, 1, "https://172.31.0.100:6443"},
		"master and proxy": {hosts("x", 10, 3, "master", "proxy"), []string{"x1", "x2", "x3"}, []string{"x1", "x2", "x3"}, 2, "https://172.31.0.100:8443"},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := cluster.Resolve(cluster.Spec{API: cluster.APISpec{VirtualIP: cluster.VirtualIPSpec{Address: "172.31.0.100"}}}, tt.hosts)
			if err != nil {
				t.Fatal(err)
			}
			v := c.API.VirtualIP
			if got := names(v.Holders); !slices.Equal(got, tt.holders) {
				t.Errorf("holders %v, want %v", got, tt.holders)
			}
			if got := names(v.Witnesses); !slices.Equal(got, tt.witnesses) || v.Majority != tt.majority {
				t.Errorf("witnesses %v, of which %d decide; want %v and %d", got, v.Majority, tt.witnesses, tt.majority)
			}
			if v.URL != tt.url || c.API.External != tt.url {
				t.Errorf("clients outside use %s, the address is %s, want %s", c.API.External, v.URL, tt.url)
			}
			if warned := v.Warning() != ""; warned != (len(tt.holders) == 1) {
				t.Errorf("with %d holders the warning is %q", len(tt.holders), v.Warning())
			}
			seen := map[int]bool{}
			for _, h := range tt.hosts {
				n := c.Nodes[h.Name]
				holds, decides := slices.Contains(tt.holders, h.Name), slices.Contains(tt.witnesses, h.Name)
				if n.RunsKeepalived != holds || n.RunsWitness != decides || slices.Contains(n.Units, "deployer-keepalived.service") != holds || slices.Contains(n.Packages["debian"], "keepalived") != holds {
					t.Errorf("%s: keepalived %t, witness %t, units %v, packages %v", h.Name, n.RunsKeepalived, n.RunsWitness, n.Units, n.Packages["debian"])
				}
				if holds && (n.VirtualPriority < 1 || n.VirtualPriority > 254 || seen[n.VirtualPriority]) || !holds && n.VirtualPriority != 0 {
					t.Errorf("%s has the priority %d", h.Name, n.VirtualPriority)
				}
				seen[n.VirtualPriority] = holds
			}
		})
	}
}

// TestVirtualIPInCertificates: API servers' certificates are valid for the address, and nothing of a
// cluster without one names it.
func TestVirtualIPInCertificates(t *testing.T) {
	for _, address := range []string{"172.31.0.100", ""} {
		c, err := cluster.Resolve(cluster.Spec{API: cluster.APISpec{VirtualIP: cluster.VirtualIPSpec{Address: address}}}, fleet(masters(3), minions(1)))
		if err != nil {
			t.Fatal(err)
		}
		for _, cert := range c.Nodes["m2"].Certificates {
			if has := slices.Contains(cert.IPs, "172.31.0.100"); has != (cert.Name == "apiserver" && address != "") {
				t.Errorf("with the virtual address %q, %s is for %v", address, cert.Name, cert.IPs)
			}
		}
		if address == "" && c.API.External != "https://172.31.0.11:6443" {
			t.Errorf("clients outside use %s", c.API.External)
		}
	}
}

// TestFormerVirtualIP: a former address stays beside the new one. Witnesses ask at the oldest address,
// which the host has before and after the change, and at the new one when it is the only one.
func TestFormerVirtualIP(t *testing.T) {
	for _, tt := range []struct {
		former  []string
		witness string
	}{{nil, "172.31.0.101:8402"}, {[]string{"172.31.0.100"}, "172.31.0.100:8402"}} {
		spec := cluster.VirtualIPSpec{Address: "172.31.0.101", Former: tt.former}
		c, err := cluster.Resolve(cluster.Spec{API: cluster.APISpec{VirtualIP: spec}}, fleet(masters(3), minions(1)))
		if err != nil {
			t.Fatal(err)
		}
		v := c.API.VirtualIP
		if v.Witness != tt.witness || v.OldestURL != "https://"+strings.TrimSuffix(tt.witness, ":8402")+":6443" || len(v.Names) != 1+len(tt.former) || len(v.Prefixes) != len(v.Names) || v.Prefixes[0] != "172.31.0.101/32" {
			t.Errorf("former %v: witnesses ask %s, names at %v, addresses %v", tt.former, v.Witness, v.Names, v.Prefixes)
		}
		if c.API.External != "https://172.31.0.101:6443" {
			t.Errorf("clients outside use %s", c.API.External)
		}
		for _, cert := range c.Nodes["m2"].Certificates {
			for _, address := range append([]string{"172.31.0.101"}, tt.former...) {
				if has := slices.Contains(cert.IPs, address); has != (cert.Name == "apiserver") {
					t.Errorf("%s is for %v", cert.Name, cert.IPs)
				}
			}
		}
	}
}
