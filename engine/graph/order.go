package graph

import (
	"container/heap"
	"fmt"
	"slices"
	"strings"
)

// CycleError is the error of [Graph.Order] for a graph with a cycle: each node of
// Cycle comes before the next, and the last before the first.
type CycleError[K comparable] struct{ Cycle []K }

// Error returns "cycle: a -> b -> a".
func (e *CycleError[K]) Error() string {
	var b strings.Builder
	for _, k := range e.Cycle {
		fmt.Fprintf(&b, "%v -> ", k)
	}
	if len(e.Cycle) > 0 {
		fmt.Fprintf(&b, "%v", e.Cycle[0])
	}
	return "cycle: " + b.String()
}

// Order returns all nodes in an order that respects every edge. If there are
// several, it returns the one closest to the order of adding. The error is a
// *CycleError.
func (g *Graph[K]) Order() ([]K, error) {
	indeg := slices.Clone(g.indeg)
	ready := &ints{}
	for i, n := range indeg {
		if n == 0 {
			*ready = append(*ready, i)
		}
	}
	out := make([]K, 0, len(g.nodes))
	for ready.Len() > 0 {
		i := heap.Pop(ready).(int)
		out = append(out, g.nodes[i])
		for _, j := range g.after[i] {
			if indeg[j]--; indeg[j] == 0 {
				heap.Push(ready, j)
			}
		}
	}
	if len(out) < len(g.nodes) {
		return nil, &CycleError[K]{Cycle: g.cycleIn(indeg)}
	}
	return out, nil
}

// Cycle returns the nodes of one cycle, or nil when the graph has none.
func (g *Graph[K]) Cycle() []K {
	_, err := g.Order()
	if err == nil {
		return nil
	}
	return err.(*CycleError[K]).Cycle //nolint:errorlint // Order returns no other error
}

// cycleIn returns a cycle among the nodes with indeg > 0, which a topological sort
// could not reach: each of them has such a node before it, so a walk backwards comes
// to one node twice.
func (g *Graph[K]) cycleIn(indeg []int) []K {
	before := make([]int, len(g.nodes))
	for i := range before {
		before[i] = -1
	}
	at := -1
	for i, next := range g.after {
		if indeg[i] == 0 {
			continue
		}
		for _, j := range next {
			if before[j] < 0 {
				before[j] = i
			}
			at = j
		}
	}
	seen := map[int]int{}
	var path []int
	for ; ; at = before[at] {
		if first, ok := seen[at]; ok {
			path = path[first:]
			break
		}
		seen[at] = len(path)
		path = append(path, at)
	}
	slices.Reverse(path)
	// Begin with the node that was added first, so that messages are stable.
	lowest := slices.Index(path, slices.Min(path))
	path = append(path[lowest:], path[:lowest]...)
	out := make([]K, len(path))
	for i, p := range path {
		out[i] = g.nodes[p]
	}
	return out
}

// ints is a heap.Interface of node numbers, smallest first.
type ints []int

func (h ints) Len() int           { return len(h) }
func (h ints) Less(i, j int) bool { return h[i] < h[j] }
func (h ints) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// Push is for package heap.
func (h *ints) Push(x any) { *h = append(*h, x.(int)) }

// Pop is for package heap.
func (h *ints) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}
