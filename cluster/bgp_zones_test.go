package cluster_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"deployer/cluster"
)

// TestZonedTopology: in random zones, each node that is no reflector has sessions with two of its zone,
// unless the zone has fewer; all routes arrive with any one reflector down; and the nodes of a zone
// that is cut off keep their routes to each other.
func TestZonedTopology(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 1))
	for range 60 {
		nodes := speakers(1+r.IntN(5), 45+r.IntN(80))
		zones, zone := 1+r.IntN(9), map[string]string{}
		for _, s := range nodes {
			if i := r.IntN(zones + 1); i < zones {
				zone[s.Name] = fmt.Sprint("z", i)
			}
		}
		topo := cluster.ZonedTopology(nodes, zone, 20, 10+r.IntN(100))
		members := map[string][]cluster.Speaker{}
		for _, s := range nodes {
			members[zone[s.Name]] = append(members[zone[s.Name]], s)
			if slices.Contains(topo.Reflectors, s.Name) {
				continue
			}
			peers := topo.Peers[s.Name]
			if len(peers) != 2 || zone[peers[0]] != zone[s.Name] || zone[peers[1]] != zone[s.Name] {
				t.Fatalf("%s of zone %q has sessions with %v", s.Name, zone[s.Name], peers)
			}
		}
		mustReachAll(t, topo, nodes)
		for _, down := range topo.Reflectors {
			mustReachAll(t, topo, nodes, down)
		}
		for name, inside := range members {
			var outside []string
			for _, s := range nodes {
				if zone[s.Name] != name {
					outside = append(outside, s.Name)
				}
			}
			mustReachAll(t, topo, inside, outside...)
			if masters := slices.IndexFunc(inside, func(s cluster.Speaker) bool { return s.Master }); masters >= 0 && !slices.Contains(topo.Reflectors, inside[masters].Name) {
				t.Fatalf("zone %q has the master %s, which reflects no routes: %v", name, inside[masters].Name, topo.Reflectors)
			}
		}
	}
	few := speakers(3, 10)
	if topo := cluster.ZonedTopology(few, nil, 50, 200); !topo.Mesh || len(topo.Reflectors) > 0 {
		t.Errorf("13 nodes have the reflectors %v", topo.Reflectors)
	}
}
