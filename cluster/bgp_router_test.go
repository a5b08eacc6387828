package cluster_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/cluster"
)

// racks returns a cluster of racks with two routers each, whose nodes have addresses in a network of
// the rack.
func racks(t *testing.T, spec cluster.Spec, perRack ...int) *cluster.Cluster {
	t.Helper()
	spec.Network.BGP.RackLabel = "rack"
	var hosts []cluster.Host
	for i, n := range perRack {
		rack := string(rune('a' + i))
		for j := range n {
			h := cluster.Host{Name: fmt.Sprintf("%s%d", rack, j+1), Address: fmt.Sprintf("10.%d.%d.%d", i+1, j/200, j%200+10), Roles: []string{"minion"}, Labels: map[string]string{"rack": rack}}
			if j == 0 {
				h.Roles = []string{"master"}
			}
			hosts = append(hosts, h)
		}
		for j := range 2 {
			spec.Network.BGP.Peers = append(spec.Network.BGP.Peers, cluster.BGPPeerSpec{
				Name: fmt.Sprintf("tor-%s%d", rack, j+1), Address: fmt.Sprintf("10.%d.0.%d", i+1, j+1), ASN: uint32(65010 + i), Nodes: map[string]string{"rack": rack}, //nolint:gosec // small
			})
		}
	}
	spec.Etcd.AllowEven = true
	c, err := cluster.Resolve(spec, hosts)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestSessionsOfRacks: nodes have sessions inside of their rack only, by which they learn all routes of
// the rack, also without one of its reflectors, and with the routers of their rack.
func TestSessionsOfRacks(t *testing.T) {
	for _, sizes := range [][]int{{1, 1}, {3, 2, 1}, {4, 60}, {70, 80, 3}} {
		c := racks(t, cluster.Spec{}, sizes...)
		members := map[string][]string{}
		for _, name := range c.NodeNames {
			rack := c.Nodes[name].BGP.Rack
			members[rack] = append(members[rack], name)
		}
		for _, name := range c.NodeNames {
			bgp := c.Nodes[name].BGP
			for _, p := range bgp.Peers {
				if c.Nodes[p.Name].BGP.Rack != bgp.Rack {
					t.Fatalf("%v: %s of rack %s has a session with %s of rack %s", sizes, name, bgp.Rack, p.Name, c.Nodes[p.Name].BGP.Rack)
				}
			}
			if want := []string{"tor-" + bgp.Rack + "1", "tor-" + bgp.Rack + "2"}; !slices.Equal(routerNames(bgp), want) {
				t.Fatalf("%v: %s has sessions with %v, want %v", sizes, name, routerNames(bgp), want)
			}
		}
		for rack, all := range members {
			reflectors := slices.DeleteFunc(slices.Clone(c.Network.Reflectors), func(r string) bool { return c.Nodes[r].BGP.Rack != rack })
			if (len(reflectors) > 0) != (len(all) >= 50) {
				t.Errorf("%v: rack %s with %d nodes has the reflectors %v", sizes, rack, len(all), reflectors)
			}
			for _, down := range append(reflectors, "") {
				requireRoutes(t, c, all, down)
			}
		}
	}
}

// requireRoutes requires a session, or a reflector common to both, between all nodes without one.
func requireRoutes(t *testing.T, c *cluster.Cluster, nodes []string, down string) {
	t.Helper()
	session := func(a, b string) bool {
		return a != down && b != down && slices.ContainsFunc(c.Nodes[a].BGP.Peers, func(p cluster.Peer) bool { return p.Name == b })
	}
	var reflectors []string
	for _, n := range nodes {
		if c.Nodes[n].BGP.IsReflector && n != down {
			reflectors = append(reflectors, n)
		}
	}
	for _, a := range nodes {
		for _, b := range nodes {
			if a == b || a == down || b == down || session(a, b) {
				continue
			}
			// Reflectors have sessions with each other: a and b need one each.
			reaches := func(n string) bool {
				return slices.ContainsFunc(reflectors, func(r string) bool { return r == n || session(n, r) })
			}
			if !reaches(a) || !reaches(b) {
				t.Fatalf("without %q: %s has no route to %s", down, a, b)
			}
		}
	}
}

func routerNames(b cluster.BGP) []string {
	out := []string{}
	for _, r := range b.Routers {
		out = append(out, r.Name)
	}
	return out
}

// TestRoutersOfNodes: labels select the nodes of a router, and a master without ordinary pods
// announces no Services.
func TestRoutersOfNodes(t *testing.T) {
	hosts := fleet(masters(1), minions(2))
	hosts[1].Labels = map[string]string{"rack": "a", "disk": "fast"}
	hosts[2].Labels = map[string]string{"rack": "b"}
	spec := cluster.Spec{Network: cluster.NetworkSpec{BGP: cluster.BGPSpec{
		Peers: []cluster.BGPPeerSpec{
			{Name: "edge", Address: "172.31.9.1", ASN: 65000, Password: "hunter2"},
			{Name: "tor-a", Address: "172.31.9.2", ASN: 65010, LocalASN: 64600, BFD: true, Nodes: map[string]string{"rack": "a"}},
		},
		Advertise: cluster.AdvertiseSpec{ClusterIPs: true, ExternalIPs: []string{"192.0.2.0/24"}, LoadBalancerIPs: []string{"203.0.113.0/24"}},
	}}}
	c, err := cluster.Resolve(spec, hosts)
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string][]string{"m1": {"edge"}, "n1": {"edge", "tor-a"}, "n2": {"edge"}} {
		bgp := c.Nodes[host].BGP
		if !slices.Equal(routerNames(bgp), want) {
			t.Errorf("%s has sessions with %v, want %v", host, routerNames(bgp), want)
		}
		announced := []string{"10.96.0.0/16", "192.0.2.0/24", "203.0.113.0/24"}
		if host == "m1" {
			announced = []string{}
		}
		if !slices.Equal(bgp.Advertised, announced) {
			t.Errorf("%s announces %v, want %v", host, bgp.Advertised, announced)
		}
	}
	want := cluster.Router{Name: "tor-a", Session: "router_tor-a", IP: "172.31.9.2", ASN: 65010, LocalASN: 64600, BFD: true, Hops: 1, Accept: []string{}}
	if diff := cmp.Diff(want, c.Nodes["n1"].BGP.Routers[1]); diff != "" {
		t.Error(diff)
	}
	plain := func(string) bool { return false }
	if got := cluster.PlainSecrets(c, plain); len(got) != 1 || got[0].Subject != "cluster.network.bgp.peers[0].password" {
		t.Errorf("plain passwords: %v", got)
	}
}
