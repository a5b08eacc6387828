package cluster_test

import (
	"slices"
	"strings"
	"testing"

	"deployer/cluster"
)

func TestContainerdProxy(t *testing.T) {
	t.Parallel()
	hosts := []cluster.Host{
		{Name: "m1", Address: "10.1.2.3", Roles: []string{"master"}}, {Name: "n1", Address: "10.1.2.77", Roles: []string{"minion"}},
		{Name: "n2", Address: "10.1.3.5", Roles: []string{"minion"}},
	}
	resolve := func(s cluster.ContainerdSpec, hosts []cluster.Host) *cluster.Cluster {
		return mustResolve(t, cluster.Spec{Containerd: s}, hosts)
	}
	if p := resolve(cluster.ContainerdSpec{}, hosts).Containerd.Proxy; p.Used() || p.NoProxy != "" {
		t.Errorf("without a proxy: %+v", p)
	}
	given := cluster.ContainerdSpec{HTTPSProxy: "http://node:secret@proxy.example:3128"}
	c := resolve(given, hosts)
	want := "localhost,127.0.0.0/8,::1,10.244.0.0/16,10.96.0.0/16,10.1.2.0/24,10.1.3.0/24,.svc,.cluster.local"
	if got := c.Containerd.Proxy; got.HTTPS != given.HTTPSProxy || got.HTTP != "" || got.NoProxy != want {
		t.Errorf("proxy %+v, want no_proxy %s", got, want)
	}
	more := append(slices.Clone(hosts), cluster.Host{Name: "n3", Address: "10.1.3.6", Roles: []string{"minion"}})
	if got := resolve(given, more).Containerd.Proxy.NoProxy; got != want {
		t.Errorf("a host that joins in a network of others changes no_proxy: %s", got)
	}
	if p := cluster.PlainSecrets(c, func(string) bool { return false }); len(p) != 1 || p[0].Subject != "cluster.containerd.https_proxy" || strings.Contains(p.Error(), "secret@") {
		t.Errorf("a password in the clear: %v", p)
	}
	if p := cluster.PlainSecrets(c, func(text string) bool { return text == given.HTTPSProxy }); len(p) != 0 {
		t.Errorf("a marked password: %v", p)
	}
	given.NoProxy = []string{".example", "10.0.0.0/8"}
	if got := resolve(given, hosts).Containerd.Proxy.NoProxy; got != ".example,10.0.0.0/8" {
		t.Errorf("no_proxy of the inventory becomes %s", got)
	}
}
