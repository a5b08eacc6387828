package networkstatus

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/cluster"
)

// dualStack returns a cluster of a master and two minions with both families, and a state as the
// inventory wants it.
func dualStack(t *testing.T) (*cluster.Cluster, Observed) {
	t.Helper()
	var hosts []cluster.Host
	for i, name := range []string{"m1", "n1", "n2"} {
		role := map[bool]string{true: cluster.RoleMaster, false: cluster.RoleMinion}[name == "m1"]
		hosts = append(hosts, cluster.Host{Name: name, Address: fmt.Sprintf("10.0.0.%d", i+1), NodeAddress: fmt.Sprintf("10.0.0.%d,fd00::%d", i+1, i+1), Roles: []string{role}})
	}
	c, err := cluster.Resolve(cluster.Spec{PodCIDR: "10.244.0.0/16,fd00:1::/56", ServiceCIDR: "10.96.0.0/16,fd00:2::/112"}, hosts)
	if err != nil {
		t.Fatal(err)
	}
	found := healthy(c)
	for i, name := range c.NodeNames {
		found.Objects.Nodes[i].Range += fmt.Sprintf(",fd00:1:0:%d::/64", i)
		for _, p := range c.Nodes[name].BGP.Peers {
			found.session(name, cluster.BIRDSession(p.Name, p.IPv6), established)
		}
	}
	return c, found
}

// TestFamilies: each family has its sessions and routes, and a route that is missing has its cause in
// the sessions of its own family.
func TestFamilies(t *testing.T) {
	t.Parallel()
	c, found := dualStack(t)
	status := Compare(c, found)
	if len(status.Problems) > 0 {
		t.Errorf("as wanted: %v", lines(status))
	}
	if wanted, up := status.Hosts[1].Wanted(); wanted != 4 || up != 4 {
		t.Errorf("%d of %d sessions of n1", up, wanted)
	}
	if diff := cmp.Diff([]string{"10.244.1.0/24", "fd00:1:0:1::/64"}, status.Hosts[1].Ranges); diff != "" {
		t.Error(diff)
	}
	if got := status.Hosts[1].Addresses; got != (AddressesStatus{2, 253}) {
		t.Errorf("addresses of n1: %v", got)
	}
	routes := WantedRoutes(c, found.Objects)
	if diff := cmp.Diff([]string{"10.0.0.1", "fd00::1", "10.0.0.2", "fd00::2", "10.0.0.3", "fd00::3"}, routes.Gateways); diff != "" {
		t.Error(diff)
	}

	found.session("n1", "to6_n2", "Active")
	found.session("n2", "to6_n1", "Connect")
	found.lose("n1", Missing{To: "fd00:1:0:2::/64", Want: "fd00::3"})
	got := strings.Join(lines(Compare(c, found)), "\n")
	for _, want := range []string{"n1 sessions: not established: n2 by IPv6 (Active) | ", "n1 routes: no established session leads to the pods fd00:1:0:2::/64 of n2 | ", "n2 sessions: not established: n1 by IPv6 (Connect) | "} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	found.session("n1", "to6_n2", "")
	if got := strings.Join(lines(Compare(c, found)), "\n"); !strings.Contains(got, "n1 sessions: BIRD's configuration has no session with n2 by IPv6") {
		t.Errorf("a session that is not configured:\n%s", got)
	}
}
