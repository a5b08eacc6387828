package cluster_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/cluster"
)

// TestDNSOrder: the Corefile has a domain in another one first, and an address with all its names once.
func TestDNSOrder(t *testing.T) {
	d := mustResolve(t, cluster.Spec{DNS: cluster.DNSSpec{
		StubDomains: map[string][]string{"corp.example": {"10.0.0.53"}, "a.lab.corp.example": {"10.0.0.54"}, "b.example": {"10.0.0.55", "10.0.0.56:5353"}},
		Hosts:       map[string][]string{"b.example": {"10.0.0.5", "fd00::5"}, "a.example": {"10.0.0.5"}},
		Rewrites:    []cluster.DNSRewrite{{From: "a.example", To: "b.example"}},
	}}, masters(1)).DNS
	want := cluster.DNS{
		StubDomains: []cluster.StubDomain{{"a.lab.corp.example", []string{"10.0.0.54"}}, {"b.example", []string{"10.0.0.55", "10.0.0.56:5353"}}, {"corp.example", []string{"10.0.0.53"}}},
		Hosts:       []cluster.DNSHost{{"10.0.0.5", []string{"a.example", "b.example"}}, {"fd00::5", []string{"b.example"}}},
		Rewrites:    []cluster.DNSRewrite{{Match: "exact", From: "a.example", To: "b.example"}},
	}
	if diff := cmp.Diff(want, cluster.DNS{StubDomains: d.StubDomains, Hosts: d.Hosts, Rewrites: d.Rewrites}); diff != "" {
		t.Error(diff)
	}
}

// TestDNSResources: values of the inventory count, and no request is above its limit.
func TestDNSResources(t *testing.T) {
	for name, tt := range map[string]struct {
		spec                                      cluster.DNSSpec
		cpu, cpuLimit, memoryRequest, memoryLimit int
	}{
		"default":            {cluster.DNSSpec{}, 100, 0, 70, 170},
		"a small CPU limit":  {cluster.DNSSpec{CPULimit: 50}, 50, 50, 70, 170},
		"a small memory":     {cluster.DNSSpec{MemoryLimit: 64}, 100, 0, 64, 64},
		"a large request":    {cluster.DNSSpec{MemoryRequest: 300}, 100, 0, 300, 300},
		"figures of a paper": {cluster.DNSSpec{CPURequest: 70, CPULimit: 100, MemoryRequest: 70, MemoryLimit: 512}, 70, 100, 70, 512},
	} {
		d := mustResolve(t, cluster.Spec{DNS: tt.spec}, masters(1)).DNS
		if d.CPURequest != tt.cpu || d.CPULimit != tt.cpuLimit || d.MemoryRequestMiB != tt.memoryRequest || d.MemoryLimitMiB != tt.memoryLimit {
			t.Errorf("%s: %+v", name, d)
		}
	}
}

// TestDNSZones: zones count when all nodes that take pods have one, and there are two.
func TestDNSZones(t *testing.T) {
	zones := func(names ...string) []cluster.Host {
		hosts := fleet(masters(1), minions(len(names)))
		for i, zone := range names {
			hosts[i+1].Labels = map[string]string{"topology.kubernetes.io/zone": zone}
		}
		return hosts
	}
	for _, tt := range []struct {
		hosts  []cluster.Host
		spread bool
	}{{zones("a", "b", "a"), true}, {zones("a", "a"), false}, {zones("a", "b", ""), false}, {masters(1), false}} {
		if got := mustResolve(t, cluster.Spec{}, tt.hosts).DNS.SpreadZones; got != tt.spread {
			t.Errorf("%+v: zones are used: %v", tt.hosts, got)
		}
	}
}
