package decide

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"deployer/keeper/world"
)

// randomWorld returns a cluster in any state.
func randomWorld(r *rand.Rand) world.World {
	w := world.World{Now: now}
	for i := range 1 + r.IntN(12) {
		n := world.Node{Name: fmt.Sprintf("h%d", i), UID: fmt.Sprint(i), Master: r.IntN(3) == 0, Reach: world.Reach(r.IntN(3)),
			Ready: []world.Readiness{world.True, world.True, world.True, world.False, world.Unknown}[r.IntN(5)], Since: now.Add(-time.Duration(r.IntN(7200)) * time.Second)}
		if r.IntN(6) == 0 {
			n.Maintenance = &world.Maintenance{Until: now.Add(time.Duration(r.IntN(1200)-600) * time.Second)}
		}
		w.Nodes = append(w.Nodes, n)
		for j := range r.IntN(4) {
			p := world.Pod{Namespace: "default", Name: fmt.Sprintf("p%d-%d", i, j), UID: fmt.Sprintf("%d-%d", i, j), Node: n.Name, Running: true}
			if r.IntN(2) == 0 {
				p.Deleted = now.Add(-time.Duration(r.IntN(120)) * time.Second)
			}
			w.Ending = append(w.Ending, p)
		}
	}
	return w
}

// TestInvariants: whatever the world is, the keeper clears deleted pods of silent hosts only, purges at
// most one node and keeps the minimums, and does nothing where it reaches no majority.
func TestInvariants(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	acted := map[Kind]int{}
	for range 4000 {
		w, s := randomWorld(r), settings()
		s.Purge.MinReadyMasters, s.Purge.MinReadyMinions = 1+r.IntN(3), r.IntN(3)
		d := All(s, w)
		nodes, reached := map[string]world.Node{}, 0
		for _, n := range w.Nodes {
			nodes[n.Name] = n
			if n.Reach == world.Answers {
				reached++
			}
		}
		pods := map[string]world.Pod{}
		for _, p := range w.Ending {
			pods[p.UID] = p
		}
		purges, seen := 0, map[string]bool{}
		for _, a := range d.Actions {
			acted[a.Kind]++
			if seen[a.Key()] {
				t.Fatalf("%s twice in %+v", a, w)
			}
			seen[a.Key()] = true
			if 2*reached <= len(w.Nodes) {
				t.Fatalf("%s although only %d of %d hosts answer", a, reached, len(w.Nodes))
			}
			var n world.Node
			switch a.Kind {
			case ForceDelete:
				p := pods[a.Object.UID]
				if n = nodes[p.Node]; p.Deleted.IsZero() {
					t.Fatalf("%s, which nobody has deleted", a)
				}
			case Purge:
				purges++
				n = nodes[a.Object.Name]
				masters, minions := 0, 0
				for _, other := range w.Nodes {
					if other.Name != n.Name && other.Ready == world.True {
						if other.Master {
							masters++
						} else {
							minions++
						}
					}
				}
				if masters < s.Purge.MinReadyMasters || minions < s.Purge.MinReadyMinions {
					t.Fatalf("%s leaves %d masters and %d minions", a, masters, minions)
				}
			default:
				t.Fatalf("%s is not wanted", a)
			}
			if n.Ready != world.Unknown || n.Reach != world.Silent || n.Maintenance.Active(now) {
				t.Fatalf("%s of node %+v", a, n)
			}
		}
		if purges > 1 {
			t.Fatalf("%d nodes leave at one time", purges)
		}
	}
	if acted[ForceDelete] == 0 || acted[Purge] == 0 {
		t.Fatalf("the worlds are too good: %v", acted)
	}
}
