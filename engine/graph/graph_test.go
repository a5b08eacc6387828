package graph

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOrderKeepsToTheOrderOfAdding(t *testing.T) {
	tests := map[string]struct {
		add   []string
		edges [][2]string
		want  []string
	}{
		"no edges":  {add: []string{"c", "a", "b"}, want: []string{"c", "a", "b"}},
		"one edge":  {add: []string{"c", "a", "b"}, edges: [][2]string{{"b", "c"}}, want: []string{"a", "b", "c"}},
		"diamond":   {edges: [][2]string{{"a", "b"}, {"a", "c"}, {"b", "d"}, {"c", "d"}}, want: []string{"a", "b", "c", "d"}},
		"same edge": {edges: [][2]string{{"a", "b"}, {"a", "b"}}, want: []string{"a", "b"}},
		"empty":     {want: []string{}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			g := New[string]()
			g.Add(tt.add...)
			for _, e := range tt.edges {
				g.AddEdge(e[0], e[1])
			}
			got, err := g.Order()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			if g.Cycle() != nil {
				t.Errorf("Cycle() = %v, want none", g.Cycle())
			}
		})
	}
}

func TestCycleIsNamed(t *testing.T) {
	g := New[string]()
	g.AddEdge("a", "b")
	g.AddEdge("b", "c")
	g.AddEdge("c", "d")
	g.AddEdge("d", "b")
	g.AddEdge("d", "e")
	_, err := g.Order()
	var cycle *CycleError[string]
	if !errors.As(err, &cycle) {
		t.Fatalf("Order() error is %v, want a cycle", err)
	}
	if diff := cmp.Diff([]string{"b", "c", "d"}, cycle.Cycle); diff != "" {
		t.Error(diff)
	}
	if want := "cycle: b -> c -> d -> b"; err.Error() != want {
		t.Errorf("error is %q, want %q", err, want)
	}
}

func TestSelfEdgeIsACycle(t *testing.T) {
	g := New[int]()
	g.AddEdge(7, 7)
	if diff := cmp.Diff([]int{7}, g.Cycle()); diff != "" {
		t.Error(diff)
	}
}

// random returns a graph and its edges; without cycles unless loops is set.
func random(r *rand.Rand, loops bool) (*Graph[int], [][2]int) {
	n := 1 + r.IntN(30)
	rank := r.Perm(n) // edges go from lower to higher rank only
	g := New[int]()
	g.Add(r.Perm(n)...)
	var edges [][2]int
	for range r.IntN(3 * n) {
		a, b := r.IntN(n), r.IntN(n)
		if !loops {
			if a == b {
				continue
			}
			if rank[a] > rank[b] {
				a, b = b, a
			}
		}
		g.AddEdge(a, b)
		edges = append(edges, [2]int{a, b})
	}
	return g, edges
}

func TestPropertyOrderRespectsEveryEdge(t *testing.T) {
	for seed := range uint64(500) {
		g, edges := random(rand.New(rand.NewPCG(seed, 1)), false)
		order, err := g.Order()
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		place := map[int]int{}
		for i, k := range order {
			place[k] = i
		}
		if len(place) != len(g.nodes) {
			t.Fatalf("seed %d: order has %d different nodes, want %d", seed, len(place), len(g.nodes))
		}
		for _, e := range edges {
			if place[e[0]] >= place[e[1]] {
				t.Fatalf("seed %d: %d is not before %d in %v", seed, e[0], e[1], order)
			}
		}
	}
}

func TestPropertyCycleIsReal(t *testing.T) {
	found := 0
	for seed := range uint64(500) {
		g, edges := random(rand.New(rand.NewPCG(seed, 2)), true)
		cycle := g.Cycle()
		inCycle := false
		for _, k := range g.nodes {
			inCycle = inCycle || reaches(edges, k, k, map[int]bool{})
		}
		if inCycle != (cycle != nil) {
			t.Fatalf("seed %d: a node reaches itself: %v, Cycle() = %v", seed, inCycle, cycle)
		}
		for i, k := range cycle {
			if !slices.Contains(edges, [2]int{k, cycle[(i+1)%len(cycle)]}) {
				t.Fatalf("seed %d: %v has no edge after %d", seed, cycle, k)
			}
		}
		if cycle != nil {
			found++
		}
	}
	if found == 0 {
		t.Fatal("no random graph had a cycle: the test shows nothing")
	}
}

// reaches reports whether edges lead from one node to another.
func reaches(edges [][2]int, from, to int, seen map[int]bool) bool {
	for _, e := range edges {
		if e[0] != from || seen[e[1]] {
			continue
		}
		seen[e[1]] = true
		if e[1] == to || reaches(edges, e[1], to, seen) {
			return true
		}
	}
	return false
}
