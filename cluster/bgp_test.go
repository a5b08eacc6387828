package cluster_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"deployer/cluster"
)

func speakers(masters, minions int) []cluster.Speaker {
	var out []cluster.Speaker
	for i := range masters + minions {
		ip := netip.AddrFrom4([4]byte{10, 0, byte(i / 256), byte(i % 256)}) //nolint:gosec // below 65536
		out = append(out, cluster.Speaker{Name: fmt.Sprintf("h%d", i), IP: ip, Master: i < masters})
	}
	return out
}

// learns simulates iBGP without some nodes and returns the origins of the routes that
// each node has: a route goes to every neighbour of its origin, and on from a
// reflector to its clients, or from a client to everyone (RFC 4456, section 6).
func learns(t cluster.Routes, nodes []cluster.Speaker, down ...string) map[string]map[string]bool {
	reflects, isDown := setOf(t.Reflectors), setOf(down)
	reflector := func(n string) bool { return reflects[n] }
	client := func(of, n string) bool { return reflector(of) && !reflector(n) }
	got := map[string]map[string]bool{}
	for _, s := range nodes {
		got[s.Name] = map[string]bool{}
	}
	type update struct{ from, to, origin string }
	var queue []update
	send := func(from, origin string, to func(string) bool) {
		for _, p := range t.Peers[from] {
			if p != origin && !isDown[p] && to(p) {
				queue = append(queue, update{from, p, origin})
			}
		}
	}
	for _, s := range nodes {
		if !isDown[s.Name] {
			send(s.Name, s.Name, func(string) bool { return true })
		}
	}
	for len(queue) > 0 {
		u := queue[0]
		queue = queue[1:]
		if got[u.to][u.origin] {
			continue
		}
		got[u.to][u.origin] = true
		switch {
		case !reflector(u.to):
		case client(u.to, u.from):
			send(u.to, u.origin, func(p string) bool { return p != u.from })
		default:
			send(u.to, u.origin, func(p string) bool { return client(u.to, p) })
		}
	}
	return got
}

func setOf(names []string) map[string]bool {
	out := map[string]bool{}
	for _, name := range names {
		out[name] = true
	}
	return out
}

func mustReachAll(t *testing.T, topo cluster.Routes, nodes []cluster.Speaker, down ...string) {
	t.Helper()
	got, isDown := learns(topo, nodes, down...), setOf(down)
	for _, a := range nodes {
		for _, b := range nodes {
			if a.Name != b.Name && !isDown[a.Name] && !isDown[b.Name] && !got[a.Name][b.Name] {
				t.Fatalf("%d nodes, reflectors %v, without %v: %s has no route to %s", len(nodes), topo.Reflectors, down, a.Name, b.Name)
			}
		}
	}
}

func TestEveryRouteArrives(t *testing.T) {
	for _, n := range []int{1, 2, 3, 5, 10, 49, 50, 51, 80, 150} {
		nodes := speakers(min(n, 3), max(0, n-3))
		topo := cluster.Topology(nodes, nil, 50, 200)
		if topo.Mesh != (n < 50) {
			t.Errorf("%d nodes: mesh is %v", n, topo.Mesh)
		}
		mustReachAll(t, topo, nodes)
		for _, r := range topo.Reflectors {
			mustReachAll(t, topo, nodes, r)
		}
	}
}

func TestNamedReflectors(t *testing.T) {
	nodes := speakers(3, 5)
	topo := cluster.Topology(nodes, []string{"h4", "h1"}, 50, 200)
	if !slices.Equal(topo.Reflectors, []string{"h1", "h4"}) || topo.Mesh {
		t.Fatalf("reflectors are %v, mesh %v", topo.Reflectors, topo.Mesh)
	}
	mustReachAll(t, topo, nodes, "h1")
	mustReachAll(t, topo, nodes, "h4")
}

// TestChosenReflectors: masters reflect; minions only beside a single master.
func TestChosenReflectors(t *testing.T) {
	for _, c := range []struct{ masters, minions, perReflector, chosen, ofMasters int }{
		{3, 60, 200, 3, 3},
		{3, 997, 200, 3, 3},
		{5, 60, 200, 3, 3},
		{5, 995, 500, 4, 4},
		{2, 60, 200, 2, 2},
		{1, 60, 200, 3, 1},
		{0, 60, 200, 3, 0},
	} {
		topo := cluster.Topology(speakers(c.masters, c.minions), nil, 50, c.perReflector)
		var masters int
		for _, s := range speakers(c.masters, c.minions) {
			if s.Master && slices.Contains(topo.Reflectors, s.Name) {
				masters++
			}
		}
		if len(topo.Reflectors) != c.chosen || masters != c.ofMasters {
			t.Errorf("%d masters and %d minions: the reflectors are %v", c.masters, c.minions, topo.Reflectors)
		}
	}
}

// TestTopologyProperties: in iBGP a neighbour that is no reflector passes nothing on,
// so it must have only reflectors as neighbours; sessions are the same from both
// ends; and no reflector has much more than its share of sessions.
func TestTopologyProperties(t *testing.T) {
	for _, n := range []int{50, 100, 333, 1000, 5000} {
		nodes := speakers(3, n-3)
		topo := cluster.Topology(nodes, nil, 50, 200)
		for _, s := range nodes {
			peers := topo.Peers[s.Name]
			for _, p := range peers {
				if !slices.Contains(topo.Peers[p], s.Name) {
					t.Fatalf("%d nodes: %s has a session with %s, but not the other way", n, s.Name, p)
				}
			}
			if slices.Contains(topo.Reflectors, s.Name) {
				if !s.Master {
					t.Errorf("%d nodes: minion %s was chosen although there are masters", n, s.Name)
				}
				if clients := len(peers) - len(topo.Reflectors) + 1; clients > n*9/10 {
					t.Errorf("%d nodes: reflector %s has %d clients", n, s.Name, clients)
				}
				continue
			}
			if len(peers) != 2 {
				t.Fatalf("%d nodes: %s has neighbours %v", n, s.Name, peers)
			}
			for _, p := range peers {
				if !slices.Contains(topo.Reflectors, p) {
					t.Fatalf("%d nodes: %s and %s are neighbours and neither reflects", n, s.Name, p)
				}
			}
		}
	}
}

// TestTopologyIsStable: an added node changes only the neighbours of its own
// reflectors, and an added reflector moves sessions only to itself.
func TestTopologyIsStable(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 3))
	for range 20 {
		n := 60 + r.IntN(35) // one below and one above have the same number of reflectors
		small, large := cluster.Topology(speakers(3, n), nil, 50, 200), cluster.Topology(speakers(3, n+1), nil, 50, 200)
		for _, s := range speakers(3, n) {
			if !slices.Contains(small.Reflectors, s.Name) && !slices.Equal(small.Peers[s.Name], large.Peers[s.Name]) {
				t.Fatalf("with %d nodes %s has %v, with one more %v", n+3, s.Name, small.Peers[s.Name], large.Peers[s.Name])
			}
		}
	}
	nodes := speakers(3, 200)
	three := cluster.Topology(nodes, []string{"h10", "h20", "h30"}, 50, 200)
	four := cluster.Topology(nodes, []string{"h10", "h20", "h30", "h40"}, 50, 200)
	for _, s := range nodes {
		if slices.Contains(four.Reflectors, s.Name) {
			continue
		}
		for _, p := range four.Peers[s.Name] {
			if p != "h40" && !slices.Contains(three.Peers[s.Name], p) {
				t.Fatalf("%s moved to %s when h40 became a reflector", s.Name, p)
			}
		}
	}
}

func TestNodeOfTopology(t *testing.T) {
	spec := cluster.Spec{Network: cluster.NetworkSpec{Reflectors: []string{"n1", "n2"}}}
	c, err := cluster.Resolve(spec, fleet(masters(1), minions(3)))
	if err != nil {
		t.Fatal(err)
	}
	r, leaf := c.Nodes["n1"].BGP, c.Nodes["m1"].BGP
	if !r.IsReflector || r.ClusterID != r.RouterID || leaf.ClusterID != "" {
		t.Errorf("reflector is %+v, other is %+v", r, leaf)
	}
	for _, p := range r.Peers {
		if p.Client != (p.Name != "n2") {
			t.Errorf("peer %s of the reflector: client is %v", p.Name, p.Client)
		}
	}
	for _, p := range leaf.Peers {
		if p.Client {
			t.Errorf("m1 is no reflector but has client %s", p.Name)
		}
	}
}
