package cluster_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/cluster"
)

// demoted returns departureHosts before and after hosts became minions.
func demoted(t *testing.T, hosts []cluster.Host, names ...string) (before, after *cluster.Cluster) {
	t.Helper()
	spec := cluster.Spec{}
	spec.Etcd.AllowEven = true
	after, err := cluster.Resolve(spec, cluster.WithoutControlPlane(hosts, names))
	if err != nil {
		t.Fatal(err)
	}
	return resolveWithout(t, spec, hosts), after
}

// TestDemotedMasterIsAMinion: the host has the configuration of a minion, and no
// other host refers to its API server or its member.
func TestDemotedMasterIsAMinion(t *testing.T) {
	hosts := departureHosts()
	hosts[0].Roles = []string{"master", "proxy"}
	before, after := demoted(t, hosts, "m1")
	m1 := after.Nodes["m1"]
	if m1.RunsAPIServer || m1.IsEtcd || !m1.IsMinion || !m1.IsProxy || !m1.RunsLocalProxy {
		t.Errorf("m1: %+v", m1)
	}
	if len(m1.Taints) > 0 {
		t.Errorf("m1 has the taints %v", m1.Taints)
	}
	if text := strings.Join(after.Nodes["m2"].Args.APIServer, " "); strings.Contains(text, before.Nodes["m1"].Etcd.ClientURL) {
		t.Errorf("the API server of m2 uses etcd on m1: %s", text)
	}
	d := cluster.NewDemotion(before, after, []string{"m1"})
	if diff := cmp.Diff([]string{}, append(d.Nodes, d.Proxies...)); diff != "" {
		t.Errorf("Node objects and load balancers that leave (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"m1"}, d.Members); diff != "" {
		t.Errorf("members that leave (-want +got):\n%s", diff)
	}
	if problems := d.CheckDemotion(before, after); len(problems) > 0 {
		t.Error(problems)
	}
}

// TestObsoleteFiles: no file of a minion is obsolete, and no key of a master is left out.
func TestObsoleteFiles(t *testing.T) {
	before, after := demoted(t, departureHosts(), "m1")
	obsolete := cluster.NewDemotion(before, after, []string{"m1"}).Obsolete["m1"]
	for _, path := range []string{"/etc/kubernetes/admin.conf", "/etc/kubernetes/pki/front-proxy-ca.crt", "/etc/etcd/pki/server.key"} {
		if !slices.Contains(obsolete, path) {
			t.Errorf("%s is not obsolete", path)
		}
	}
	kept := []string{"/etc/kubernetes/pki/ca.crt", "/etc/kubernetes/kubelet.conf", "/etc/kubernetes/kube-proxy.conf"}
	for _, c := range after.Nodes["n1"].Certificates {
		kept = append(kept, c.CertPath, c.KeyPath)
	}
	for _, path := range kept {
		if slices.Contains(obsolete, path) {
			t.Errorf("%s is obsolete, and minions have it", path)
		}
	}
	for _, c := range before.Nodes["m1"].Certificates {
		if !slices.Contains(obsolete, c.KeyPath) && !slices.Contains(kept, c.KeyPath) {
			t.Errorf("the key %s stays on the host", c.KeyPath)
		}
	}
}

func TestOnlyMastersAreDemoted(t *testing.T) {
	for name, c := range map[string]struct {
		hosts []string
		code  string
	}{
		"a master": {[]string{"m1"}, ""},
		"a minion": {[]string{"m1", "n1"}, "no-master-there"},
	} {
		hosts := departureHosts()
		spec := cluster.Spec{}
		spec.Etcd.AllowEven = true
		after, err := cluster.Resolve(spec, cluster.WithoutControlPlane(hosts, c.hosts))
		if err != nil {
			t.Fatal(err)
		}
		before := resolveWithout(t, spec, hosts)
		var codes []string
		for _, p := range cluster.NewDemotion(before, after, c.hosts).CheckDemotion(before, after) {
			codes = append(codes, p.Code)
		}
		if got := strings.Join(codes, " "); got != c.code {
			t.Errorf("%s: problems %q, want %q", name, got, c.code)
		}
	}
}
