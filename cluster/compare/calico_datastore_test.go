package compare

import (
	"strings"
	"testing"

	"deployer/cluster"
)

// withDatastore resolves a cluster of one node whose Calico has its objects there.
func withDatastore(t *testing.T, datastore string) *cluster.Cluster {
	t.Helper()
	c, err := cluster.Resolve(cluster.Spec{Network: cluster.NetworkSpec{Plugin: cluster.PluginCalico, Calico: cluster.CalicoSpec{Datastore: datastore}}},
		[]cluster.Host{{Name: "m1", Address: "10.0.0.11", Roles: []string{cluster.RoleMaster}}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestDatastoreChange(t *testing.T) {
	for _, c := range []struct{ wanted, had, says string }{
		{"kubernetes", "", ""},
		{"etcd", "", ""},
		{"etcd", "etcd", ""},
		{"etcd", "kubernetes", "objects in kubernetes: m1"},
		{"kubernetes", "etcd", "objects in etcd: m1"},
	} {
		got := datastoreChange(withDatastore(t, c.wanted), InUse{Hosts: map[string]HostInUse{"m1": {Datastore: c.had}}})
		if (len(got) > 0) != (c.says != "") || len(got) > 0 && !strings.Contains(got[0].Detail, c.says) {
			t.Errorf("%s in place of %q: %+v, want %q", c.wanted, c.had, got, c.says)
		}
	}
}

// TestChangePluginWithEtcd: neither a change to Calico with etcd nor one from it is begun.
func TestChangePluginWithEtcd(t *testing.T) {
	bgp, err := cluster.Resolve(cluster.Spec{}, []cluster.Host{{Name: "m1", Address: "10.0.0.11", Roles: []string{cluster.RoleMaster}}})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		want *cluster.Cluster
		had  HostInUse
	}{
		"to it":   {withDatastore(t, "etcd"), HostInUse{Plugin: cluster.PluginBGP}},
		"from it": {bgp, HostInUse{Plugin: cluster.PluginCalico, Datastore: "etcd"}},
	} {
		got := pluginChange(c.want, InUse{Hosts: map[string]HostInUse{"m1": c.had}, ChangesPlugin: true})
		if len(got) != 1 || got[0].Subject != "network.calico.datastore" {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
