package cluster_test

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"deployer/cluster"

	"github.com/google/go-cmp/cmp"
)

func mustResolve(t *testing.T, spec cluster.Spec, hosts []cluster.Host) *cluster.Cluster {
	t.Helper()
	c, err := cluster.Resolve(spec, hosts)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestPlacement(t *testing.T) {
	no := false
	cases := []struct {
		name  string
		spec  cluster.Spec
		hosts []cluster.Host
		want  map[string]string // host -> roles, * for apiserver, l and x for proxies, t for the master's taint
	}{
		{"stacked etcd", cluster.Spec{}, fleet(masters(1), minions(1)), map[string]string{
			"m1": "master,etcd,node *t", "n1": "minion,node l",
		}},
		{"masters alone take pods", cluster.Spec{}, masters(1), map[string]string{"m1": "master,etcd,node *"}},
		{"unless told not to", cluster.Spec{Schedulable: &no}, masters(1), map[string]string{"m1": "master,etcd,node *t"}},
		{"master and minion", cluster.Spec{}, fleet(hosts("b", 1, 1, "master", "minion"), minions(1)), map[string]string{
			"b1": "master,minion,etcd,node *", "n1": "minion,node l",
		}},
		{"dedicated etcd", cluster.Spec{}, fleet(masters(1), hosts("e", 20, 1, "etcd")), map[string]string{
			"m1": "master,node *", "e1": "etcd ",
		}},
		{"proxies", cluster.Spec{}, fleet(masters(1), hosts("p", 20, 1, "proxy"), hosts("q", 30, 1, "proxy", "minion")), map[string]string{
			"m1": "master,etcd,node *t", "p1": "proxy x", "q1": "minion,proxy,node lx",
		}},
		{"everything on one", cluster.Spec{}, hosts("s", 1, 1, "master", "minion", "etcd", "proxy"), map[string]string{
			"s1": "master,minion,etcd,proxy,node *x",
		}},
		{"no part in the cluster", cluster.Spec{}, fleet(masters(1), hosts("z", 9, 1)), map[string]string{
			"m1": "master,etcd,node *", "z1": " ",
		}},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			got := map[string]string{}
			for name, n := range mustResolve(t, tc.spec, tc.hosts).Nodes {
				marks := ""
				for _, m := range []struct {
					mark string
					is   bool
				}{{"*", n.RunsAPIServer}, {"l", n.RunsLocalProxy}, {"x", n.RunsExternalProxy}, {"t", len(n.Taints) > 0}} {
					if m.is {
						marks += m.mark
					}
				}
				got[name] = strings.Join(n.Roles, ",") + " " + marks
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestProxyPort: a proxy on a master listens on another port, and so do all proxies
// then.
func TestProxyPort(t *testing.T) {
	c := mustResolve(t, cluster.Spec{}, fleet(hosts("b", 1, 1, "master", "proxy"), hosts("p", 20, 1, "proxy")))
	if c.Proxy.Port != 8443 || c.API.External != "https://172.31.0.2:8443" {
		t.Errorf("proxies listen on %d, clients use %s", c.Proxy.Port, c.API.External)
	}
	if got := c.Nodes["p1"].ProxyListen; !slices.Equal(got, []string{"172.31.0.21:8443"}) {
		t.Errorf("p1 listens on %v", got)
	}
	c = mustResolve(t, cluster.Spec{API: cluster.APISpec{Port: 7443}}, fleet(masters(1), hosts("q", 20, 1, "proxy", "minion")))
	if got := c.Nodes["q1"].ProxyListen; !slices.Equal(got, []string{"127.0.0.1:7443", "172.31.0.21:7443"}) {
		t.Errorf("q1 listens on %v", got)
	}
}

// TestResolveIsDeterministic: equal input gives equal bytes, and Resolve does not
// change its input.
func TestResolveIsDeterministic(t *testing.T) {
	spec := cluster.Spec{
		Containerd: cluster.ContainerdSpec{Mirrors: map[string][]string{"docker.io": {"https://a"}, "quay.io": {"https://b"}, "ghcr.io": {"https://c"}}},
		Overrides:  map[string]any{"kubelet": map[string]any{"a": 1, "b": map[string]any{"c": []any{1}}}},
	}
	hosts := fleet(masters(3), minions(60))
	hosts[0].Overrides = map[string]any{"kubelet": map[string]any{"b": map[string]any{"d": 2}}}
	before, _ := json.Marshal([]any{spec, hosts})
	var first string
	for range 20 {
		c := mustResolve(t, spec, hosts)
		now, err := json.Marshal(view{c, c.Nodes})
		if err != nil {
			t.Fatal(err)
		}
		if first != "" && first != string(now) {
			t.Fatal("the same input gave another output")
		}
		first = string(now)
	}
	if after, _ := json.Marshal([]any{spec, hosts}); string(before) != string(after) {
		t.Error("resolving changed its input")
	}
}

// TestResolveProperties: for any roles of hosts, Resolve refuses the cluster or
// returns one that has the properties of every cluster.
func TestResolveProperties(t *testing.T) {
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 4))
		list := hosts("h", 1, 1+r.IntN(12))
		for i := range list {
			for _, role := range []string{"master", "minion", "etcd", "proxy"} {
				if r.IntN(3) == 0 {
					list[i].Roles = append(list[i].Roles, role)
				}
			}
		}
		c, err := cluster.Resolve(cluster.Spec{Etcd: cluster.EtcdSpec{AllowEven: true}}, list)
		if err != nil {
			if !slices.ContainsFunc(list, func(h cluster.Host) bool { return slices.Contains(h.Roles, "master") }) {
				continue
			}
			if len(list) < 8 {
				t.Fatalf("seed %d: %v", seed, err)
			}
			continue // more than seven etcd members
		}
		checkInvariants(t, seed, c)
	}
}

func checkInvariants(t *testing.T, seed uint64, c *cluster.Cluster) {
	t.Helper()
	paths := map[string]bool{}
	for name, n := range c.Nodes {
		if n.IsNode && n.RunsAPIServer == n.RunsLocalProxy {
			t.Errorf("seed %d: node %s needs exactly one way to the API", seed, name)
		}
		if n.IsNode != (len(n.Args.Kubelet) > 0) || n.IsEtcd != (len(n.Args.Etcd) > 0) || n.RunsAPIServer != (len(n.Args.APIServer) > 0) {
			t.Errorf("seed %d: %s has flags of what it does not run, or lacks some", seed, name)
		}
		if !n.IsNode && !n.IsEtcd && len(n.Certificates) > 0 {
			t.Errorf("seed %d: %s needs no certificate but may have %d", seed, name, len(n.Certificates))
		}
		for _, cert := range n.Certificates {
			if paths[name+cert.CertPath] || paths[name+cert.KeyPath] {
				t.Errorf("seed %d: two certificates of %s share a file", seed, name)
			}
			paths[name+cert.CertPath], paths[name+cert.KeyPath] = true, true
		}
		for _, k := range n.Kubeconfigs {
			if !paths[name+k.CertPath] {
				t.Errorf("seed %d: kubeconfig %s of %s names a certificate that is not there", seed, k.Path, name)
			}
		}
	}
	if want := len(c.Masters); len(c.API.Endpoints) != want || len(c.Proxy.Backends) != want {
		t.Errorf("seed %d: %d masters, %d endpoints, %d backends", seed, want, len(c.API.Endpoints), len(c.Proxy.Backends))
	}
	if strings.Count(c.Etcd.InitialCluster, "=") != len(c.Etcd.Members) || len(c.Etcd.Members) == 0 {
		t.Errorf("seed %d: initial cluster %s of %d members", seed, c.Etcd.InitialCluster, len(c.Etcd.Members))
	}
}

func BenchmarkResolveThousand(b *testing.B) {
	list := fleet(masters(3), minions(997))
	for b.Loop() {
		if _, err := cluster.Resolve(cluster.Spec{}, list); err == nil {
			b.Fatal("256 ranges cannot do for 1000 nodes")
		}
		if _, err := cluster.Resolve(cluster.Spec{PodCIDR: "10.128.0.0/13"}, list); err != nil {
			b.Fatal(err)
		}
	}
}
