package compare

import (
	"strings"
	"testing"

	"deployer/cluster"
)

func TestCalicoDowngrade(t *testing.T) {
	want := func(version string) *cluster.Cluster {
		return &cluster.Cluster{Order: []string{"m1", "n1"}, Versions: cluster.VersionSet{Calico: version}, Network: cluster.Network{Plugin: cluster.PluginCalico}}
	}
	for _, c := range []struct{ wanted, m1, n1, says string }{
		{"v3.28.4", "v3.28.4", "v3.28.4", ""},
		{"v3.31.7", "v3.28.4", "v3.28.4", ""}, // over minor versions
		{"v3.28.3", "v3.28.4", "v3.28.3", ""}, // a patch version back
		{"v3.28.4", "", "", ""},               // a new cluster
		{"v3.28.4", "v3.28.4", "unknown", ""},
		{"v3.28.4", "v3.28.4", "v3.31.7", "nodes run up to v3.31.7: n1"},
		{"v3.28.4", "v3.30.7", "v3.31.7", "nodes run up to v3.31.7: m1, n1"},
		{"v3.28.4", "v4.0.0", "v3.28.4", "nodes run up to v4.0.0: m1"},
	} {
		got := calicoDowngrade(want(c.wanted), InUse{Hosts: map[string]HostInUse{"m1": {Calico: c.m1}, "n1": {Calico: c.n1}}})
		switch {
		case c.says == "" && len(got) > 0:
			t.Errorf("%+v: %v", c, got)
		case c.says != "" && (len(got) != 1 || !strings.Contains(got[0].Detail, c.says)):
			t.Errorf("%+v: %v", c, got)
		}
	}
	other := want("v3.28.4")
	other.Network.Plugin = cluster.PluginNone
	if got := calicoDowngrade(other, InUse{Hosts: map[string]HostInUse{"m1": {Calico: "v3.31.7"}}}); len(got) > 0 {
		t.Errorf("with plugin none: %v", got)
	}
}
