package cluster_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"deployer/cluster"
)

// configs are the sessions in the files of nodes.
type configs map[string][]cluster.Peer

func configsOf(t cluster.Routes) configs {
	out := configs{}
	for node, peers := range t.Peers {
		out[node] = []cluster.Peer{}
		for _, p := range peers {
			reflects := func(n string) bool { return slices.Contains(t.Reflectors, n) }
			out[node] = append(out[node], cluster.Peer{Name: p, Client: reflects(node) && !reflects(p), Reflector: reflects(p)})
		}
	}
	return out
}

func (c configs) peer(node, name string) (cluster.Peer, bool) {
	i := slices.IndexFunc(c[node], func(p cluster.Peer) bool { return p.Name == name })
	if i < 0 {
		return cluster.Peer{}, false
	}
	return c[node][i], true
}

// unreached returns a node without a route to another one; "" when each has all. A session
// runs when both ends have it. A node takes any of the routes with the fewest
// hops, and passes that route on.
func (c configs) unreached(r *rand.Rand) string {
	nodes := slices.Sorted(maps.Keys(c))
	for _, origin := range nodes {
		got := map[string]bool{origin: true}
		edge := map[string]string{origin: ""} // node -> neighbour from which it has the route
		for len(edge) > 0 {
			next := map[string]string{}
			holders := slices.Sorted(maps.Keys(edge))
			r.Shuffle(len(holders), func(i, j int) { holders[i], holders[j] = holders[j], holders[i] })
			for _, node := range holders {
				learned, _ := c.peer(node, edge[node])
				for _, p := range c[node] {
					back, both := c.peer(p.Name, node)
					switch {
					case !both || got[p.Name] || p.Name == edge[node]:
					case node != origin && !learned.Client && !p.Client: // iBGP passes nothing on
					case node != origin && !back.Reflector: // the filter of the other end
					default:
						if next[p.Name] == "" {
							next[p.Name] = node
						}
					}
				}
			}
			for node := range next {
				got[node] = true
			}
			edge = next
		}
		for _, node := range nodes {
			if !got[node] {
				return fmt.Sprintf("%s has no route to %s", node, origin)
			}
		}
	}
	return ""
}

func randomTopology(r *rand.Rand, nodes []cluster.Speaker) cluster.Routes {
	switch r.IntN(3) {
	case 0:
		return cluster.Topology(nodes, nil, 100, 200)
	case 1:
		return cluster.Topology(nodes, nil, 2, 1+r.IntN(8))
	}
	var named []string
	for _, s := range nodes {
		if r.IntN(4) == 0 {
			named = append(named, s.Name)
		}
	}
	return cluster.Topology(nodes, append(named, nodes[r.IntN(len(nodes))].Name), 2, 200)
}

// TestBGPTransitionLosesNoRoute changes the topology of random clusters node by node,
// in random order, with nodes that cannot be reached or that join, and with runs that
// are killed and begun again, also towards another topology. Each node always has a
// route to every other.
func TestBGPTransitionLosesNoRoute(t *testing.T) {
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 7))
		nodes := speakers(1+r.IntN(3), 2+r.IntN(8))
		now := configsOf(randomTopology(r, nodes))
		check := func(during string) {
			t.Helper()
			if lost := now.unreached(r); lost != "" {
				t.Fatalf("seed %d, %s: %s", seed, during, lost)
			}
		}
		check("before")
		for run := range 1 + r.IntN(3) {
			topology := randomTopology(r, nodes)
			wanted := configsOf(topology)
			unreachable := ""
			if r.IntN(3) == 0 {
				unreachable = nodes[r.IntN(len(nodes))].Name
			}
			present := maps.Clone(now)
			delete(present, unreachable)
			plan := cluster.PlanBGPTransition(wanted, present)
			killed := r.IntN(3) == 0
			during := fmt.Sprintf("run %d, unreachable %q, reflectors %v, killed %t", run, unreachable, topology.Reflectors, killed)
			apply := func(file func(node string) []cluster.Peer) bool {
				order := slices.Sorted(maps.Keys(present))
				r.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
				if killed {
					order = order[:r.IntN(len(order)+1)]
				}
				for _, node := range order {
					now[node] = file(node)
					check(during)
				}
				return len(order) == len(present)
			}
			if plan.Needed {
				if !apply(func(node string) []cluster.Peer { return plan.Both[node] }) {
					continue
				}
				present = maps.Clone(now)
				delete(present, unreachable)
				plan = cluster.PlanBGPTransition(wanted, present)
			}
			final := func(node string) []cluster.Peer {
				if other, ok := plan.Final[node]; ok {
					return other
				}
				return wanted[node]
			}
			if !apply(final) || unreachable != "" {
				continue
			}
			for node := range wanted {
				if !slices.Equal(now[node], wanted[node]) {
					t.Fatalf("seed %d, %s: %s has %v in the end, wanted %v", seed, during, node, now[node], wanted[node])
				}
			}
			if again := cluster.PlanBGPTransition(wanted, now); again.Needed || len(again.Final) > 0 {
				t.Fatalf("seed %d, %s: a second run plans %+v", seed, during, again)
			}
		}
	}
}

func TestBGPTransitionIsNeeded(t *testing.T) {
	peer := func(name, flags string) cluster.Peer {
		return cluster.Peer{Name: name, Client: flags == "client", Reflector: flags == "reflector"}
	}
	wanted := configs{"a": {peer("b", "")}, "b": {peer("a", "")}}
	for name, tt := range map[string]struct {
		present configs
		want    bool
	}{
		"new cluster":             {configs{"a": {}, "b": {}}, false},
		"sessions as wanted":      {wanted, false},
		"a node joins":            {configs{"a": {}, "b": {peer("a", "")}}, false},
		"a node leaves":           {configs{"a": {peer("b", ""), peer("gone", "")}, "b": {peer("a", "")}}, false},
		"a reflector leaves":      {configs{"a": {peer("b", ""), peer("gone", "reflector")}, "b": {peer("a", "")}}, true},
		"a client becomes a peer": {configs{"a": {peer("b", "client")}, "b": {peer("a", "reflector")}}, true},
		"a client becomes a peer, a node is unreachable": {configs{"a": {peer("b", "client")}}, false},
		"a node is unreachable":                          {configs{"a": {peer("b", "")}}, false},
		"a node is unreachable, another leaves":          {configs{"a": {peer("b", ""), peer("gone", "")}}, false},
	} {
		if got := cluster.PlanBGPTransition(wanted, tt.present); got.Needed != tt.want || got.Needed != (got.Both != nil) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	// A session that is kept for an unreachable node stays unchanged; a session with
	// a host that has left does not stay.
	got := cluster.PlanBGPTransition(configs{"a": {peer("b", "")}, "b": {peer("a", "")}, "c": {}}, configs{"a": {peer("c", ""), peer("gone", "")}, "c": {peer("a", "")}})
	if fmt.Sprint(got.Final["a"]) != fmt.Sprint([]cluster.Peer{peer("b", ""), peer("c", "")}) {
		t.Errorf("kept: %+v", got)
	}
}
