package networkstatus

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/cluster"
)

// TestRouters: a router without a session is one problem, which names the nodes that lack one.
func TestRouters(t *testing.T) {
	t.Parallel()
	const (
		router = "look at the router: it is down, or its configuration has other numbers of autonomous systems or another password"
		nodes  = "look at the router's configuration for these nodes, and run deployer apply where a session is not configured"
	)
	for plugin, session := range map[string]string{cluster.PluginBGP: "router_edge", cluster.PluginCalico: "Node_10_0_9_1"} {
		for name, tt := range map[string]struct {
			change func(o *Observed)
			want   []string
		}{
			"as wanted": {func(*Observed) {}, []string{}},
			"the router is down": {func(o *Observed) {
				for host := range o.Hosts {
					o.session(host, session, "Connect Socket: No route to host")
				}
			}, []string{" routers: router edge (10.0.9.1) has no session: m1 (Connect Socket: No route to host), n1 (Connect Socket: No route to host), n2 (Connect Socket: No route to host), n3 (Connect Socket: No route to host) | " + router}},
			"a node is not configured": {func(o *Observed) { o.session("n2", session, "") },
				[]string{" routers: router edge (10.0.9.1) has no session with 1 of 4 nodes: n2 (not configured) | " + nodes}},
		} {
			c := resolved(t, cluster.NetworkSpec{Plugin: plugin, BGP: cluster.BGPSpec{Peers: []cluster.BGPPeerSpec{{Name: "edge", Address: "10.0.9.1", ASN: 65010}}}})
			o := healthy(c)
			for i := range o.Objects.Pools {
				o.Objects.Pools[i].BlockSize = 27
			}
			for host := range o.Hosts {
				o.session(host, session, established)
			}
			tt.change(&o)
			got := Compare(c, o)
			if diff := cmp.Diff(tt.want, lines(got)); diff != "" {
				t.Errorf("%s, %s: %s", plugin, name, diff)
			}
			n2 := got.Hosts[2]
			if wanted, _ := n2.Wanted(); wanted != 4 {
				t.Errorf("%s, %s: n2 wants %d sessions, want 4", plugin, name, wanted)
			}
			if (name != "as wanted") != slices.Contains(n2.Checks, checkRouters) {
				t.Errorf("%s, %s: the checks of n2 are %v", plugin, name, n2.Checks)
			}
		}
	}
}

// TestRoutesBetweenRacks: routers make the routes to other racks, by any gateway.
func TestRoutesBetweenRacks(t *testing.T) {
	t.Parallel()
	var hosts []cluster.Host
	spec := cluster.Spec{Network: cluster.NetworkSpec{BGP: cluster.BGPSpec{RackLabel: "rack"}}}
	for i, name := range []string{"m1", "n1", "n2", "n3"} {
		rack, role := []string{"a", "a", "b", "b"}[i], cluster.RoleMinion
		if i == 0 {
			role = cluster.RoleMaster
		}
		hosts = append(hosts, cluster.Host{Name: name, Address: []string{"10.0.1.11", "10.0.1.12", "10.0.2.11", "10.0.2.12"}[i], Roles: []string{role}, Labels: map[string]string{"rack": rack}})
	}
	for _, rack := range []string{"a", "b"} {
		spec.Network.BGP.Peers = append(spec.Network.BGP.Peers, cluster.BGPPeerSpec{Name: "tor-" + rack, Address: map[string]string{"a": "10.0.1.1", "b": "10.0.2.1"}[rack], ASN: 65010, Nodes: map[string]string{"rack": rack}})
	}
	c, err := cluster.Resolve(spec, hosts)
	if err != nil {
		t.Fatal(err)
	}
	o := healthy(c)
	for host := range o.Hosts {
		o.session(host, "router_tor-"+c.Nodes[host].BGP.Rack, established)
	}
	if got := lines(Compare(c, o)); len(got) > 0 {
		t.Errorf("as wanted: %v", got)
	}
	if got := WantedRoutes(c, o.Objects); len(got.Prefixes) != 4 || len(got.Gateways) != 0 {
		t.Errorf("wanted routes are %+v", got)
	}
	o.lose("n1", Missing{To: "10.244.2.0/24"}, Missing{To: "10.244.0.0/24"})
	want := []string{
		"n1 routes: no router announces the pods in other racks 10.244.2.0/24 of n2 | look at the routers: they must announce to each rack the pods of all others",
		"n1 routes: no route to the pods 10.244.0.0/24 of m1, though sessions lead there: a neighbour does not announce it, or a filter rejects it | run deployer apply; birdc -s /run/bird/bird.ctl show route for 10.244.0.0/24 all shows what BIRD knows",
	}
	if diff := cmp.Diff(want, lines(Compare(c, o))); diff != "" {
		t.Error(diff)
	}
}
