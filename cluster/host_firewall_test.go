package cluster_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/cluster"
)

// TestHostFirewall: etcd has the addresses of masters and members, kubelets the networks of all
// hosts of the cluster and of pods.
func TestHostFirewall(t *testing.T) {
	hosts := []cluster.Host{
		{Name: "m1", Address: "198.51.100.1", NodeAddress: "10.0.0.1", Roles: []string{"master"}},
		{Name: "e1", Address: "10.0.1.1", Roles: []string{"etcd"}},
		{Name: "n1", Address: "10.0.2.1", Roles: []string{"minion"}},
		{Name: "n2", Address: "10.0.2.2", Roles: []string{"minion"}},
		{Name: "p1", Address: "10.0.3.1", Roles: []string{"proxy"}},
		{Name: "spare", Address: "10.0.4.1"},
	}
	spec := cluster.Spec{Network: cluster.NetworkSpec{HostFirewall: cluster.HostFirewallSpec{Enabled: true, Allow: []string{"10.9.0.0/16", "fd00::9"}}}}
	c, err := cluster.Resolve(spec, hosts)
	if err != nil {
		t.Fatal(err)
	}
	want := cluster.HostFirewall{
		Enabled: true,
		Etcd:    cluster.FirewallSources{IPv4: []string{"10.0.0.1", "10.0.1.1", "10.9.0.0/16"}, IPv6: []string{"fd00::9"}},
		Calico:  cluster.FirewallSources{IPv4: []string{"10.0.0.0/24", "10.0.1.0/24", "10.0.2.0/24", "10.0.3.0/24", "10.9.0.0/16"}, IPv6: []string{"fd00::9"}},
		Kubelet: cluster.FirewallSources{IPv4: []string{"10.0.0.0/24", "10.0.1.0/24", "10.0.2.0/24", "10.0.3.0/24", "10.244.0.0/16", "10.9.0.0/16"}, IPv6: []string{"fd00::9"}},
	}
	if diff := cmp.Diff(want, c.HostFirewall); diff != "" {
		t.Error(diff)
	}
	for name, filters := range map[string]bool{"m1": true, "e1": true, "n1": true, "p1": false} {
		n := c.Nodes[name]
		if n.RunsFirewall != filters || slices.Contains(n.Units, "deployer-firewall.service") != filters {
			t.Errorf("%s has the filter: %t, its units are %v", name, n.RunsFirewall, n.Units)
		}
	}
	if got := c.Nodes["e1"].Packages["debian"]; !slices.Equal(got, []string{"nftables"}) {
		t.Errorf("e1 has the packages %v", got)
	}
}

func TestHostFirewallRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		spec cluster.HostFirewallSpec
		want string
	}{
		"a name":           {cluster.HostFirewallSpec{Enabled: true, Allow: []string{"monitor.example"}}, "bad-source"},
		"no first address": {cluster.HostFirewallSpec{Enabled: true, Allow: []string{"10.0.0.5/24"}}, "bad-source"},
		"off":              {cluster.HostFirewallSpec{Allow: []string{"10.0.0.0/24"}}, "unused-source"},
	} {
		t.Run(name, func(t *testing.T) {
			problems := cluster.Validate(cluster.Spec{Network: cluster.NetworkSpec{HostFirewall: tt.spec}}, masters(1))
			if len(problems) != 1 || problems[0].Code != tt.want || !strings.HasPrefix(problems[0].Subject, "cluster.network.host_firewall") {
				t.Errorf("got %v, want %s", problems, tt.want)
			}
		})
	}
}
