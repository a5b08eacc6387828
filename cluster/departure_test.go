package cluster_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/cluster"
)

// resolveWithout resolves hosts; the leaving hosts have no roles.
func resolveWithout(t *testing.T, spec cluster.Spec, hosts []cluster.Host, leaving ...string) *cluster.Cluster {
	t.Helper()
	c, err := cluster.Resolve(spec, cluster.WithoutRoles(hosts, leaving))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func departureHosts() []cluster.Host {
	var hosts []cluster.Host
	for i, h := range []string{"m1 master", "m2 master", "m3 master", "n1 minion", "n2 minion", "p1 proxy"} {
		name, role, _ := strings.Cut(h, " ")
		hosts = append(hosts, cluster.Host{Name: name, Address: "10.0.0." + string(rune('1'+i)), Roles: []string{role}})
	}
	return hosts
}

// TestDepartedHostsAreInNoConfiguration: no other host's configuration names a host that
// leaves, and the host itself keeps nothing.
func TestDepartedHostsAreInNoConfiguration(t *testing.T) {
	spec := cluster.Spec{}
	spec.Etcd.AllowEven = true
	after := resolveWithout(t, spec, departureHosts(), "m1", "n2")
	if diff := cmp.Diff([]string{"m2", "m3", "n1"}, after.NodeNames); diff != "" {
		t.Error(diff)
	}
	for _, name := range []string{"m2", "m3", "n1", "p1"} {
		n := after.Nodes[name]
		for _, p := range n.BGP.Peers {
			if p.Name == "m1" || p.Name == "n2" {
				t.Errorf("%s has a BGP session with %s", name, p.Name)
			}
		}
		if text := strings.Join(n.Args.APIServer, " "); strings.Contains(text, "10.0.0.1:2379") {
			t.Errorf("the API server of %s uses etcd on m1: %s", name, text)
		}
	}
	for _, e := range after.API.Endpoints {
		if e.Name == "m1" {
			t.Error("proxies have m1 as a backend")
		}
	}
	gone := after.Nodes["m1"]
	if gone.IsNode || gone.IsEtcd || len(gone.Certificates)+len(gone.Units) > 0 {
		t.Errorf("m1 has functions: %+v", gone)
	}
	for _, o := range gone.Owned {
		if len(o.Keep) > 0 {
			t.Errorf("m1 keeps %v in %s", o.Keep, o.Path)
		}
	}
}

func TestDeparture(t *testing.T) {
	before := resolveWithout(t, cluster.Spec{}, departureHosts())
	d := cluster.NewDeparture(before, []string{"m1", "n2", "p1"}, []string{"m2", "old"})
	want := map[string][]string{
		"nodes": {"m1", "n2", "m2", "old"}, "members": {"m1", "m2", "old"}, "masters": {"m1", "m2"}, "proxies": {"p1"},
	}
	got := map[string][]string{"nodes": d.Nodes, "members": d.Members, "masters": d.Masters, "proxies": d.Proxies}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{"m1": "https://10.0.0.1:2380", "m2": "https://10.0.0.2:2380"}, d.PeerURLs); diff != "" {
		t.Error(diff)
	}
}

func TestDepartureNeedsEveryFunctionElsewhere(t *testing.T) {
	dedicated := append(departureHosts(), cluster.Host{Name: "e1", Address: "10.0.0.9", Roles: []string{"etcd"}})
	for name, c := range map[string]struct {
		hosts   []cluster.Host
		leaving []string
		want    string
	}{
		"a master and a minion": {departureHosts(), []string{"m1", "n1"}, ""},
		"the proxy":             {departureHosts(), []string{"p1"}, "no-proxy"},
		"all minions":           {departureHosts(), []string{"n1", "n2"}, "no-node-for-pods"},
		"dedicated etcd":        {dedicated, []string{"e1"}, "no-etcd"},
	} {
		spec := cluster.Spec{}
		before := resolveWithout(t, spec, c.hosts)
		spec.Etcd.AllowEven = true
		after := resolveWithout(t, spec, c.hosts, c.leaving...)
		var codes []string
		for _, p := range cluster.NewDeparture(before, c.leaving, nil).Check(before, after) {
			codes = append(codes, p.Code)
		}
		if got := strings.Join(codes, " "); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
