// Package graph is a small directed graph with what is needed to put things in
// order: who comes before whom, whether that is possible at all, and what is
// ready next. It knows nothing of what its nodes mean.
//
// All answers are deterministic: where the edges leave a choice, nodes come in
// the order in which they were added.
//
// A Graph is not safe for concurrent use while it is being changed.
package graph

import "slices"

// Graph holds nodes of type K and edges "a before b". The zero value is not
// usable; see New.
type Graph[K comparable] struct {
	nodes []K
	index map[K]int
	after [][]int // after[i] are the nodes that come after node i
	indeg []int   // how many nodes come before node i
	edges map[[2]int]struct{}
}

// New returns an empty graph.
func New[K comparable]() *Graph[K] {
	return &Graph[K]{index: map[K]int{}, edges: map[[2]int]struct{}{}}
}

// Add puts nodes into the graph; those already there are left as they are.
func (g *Graph[K]) Add(nodes ...K) {
	for _, k := range nodes {
		g.id(k)
	}
}

// Before says that a comes before b, and adds the nodes that are missing. The
// same edge twice counts once. A node before itself is a cycle.
func (g *Graph[K]) Before(a, b K) {
	edge := [2]int{g.id(a), g.id(b)}
	if _, dup := g.edges[edge]; dup {
		return
	}
	g.edges[edge] = struct{}{}
	g.after[edge[0]] = append(g.after[edge[0]], edge[1])
	g.indeg[edge[1]]++
}

func (g *Graph[K]) id(k K) int {
	if i, ok := g.index[k]; ok {
		return i
	}
	i := len(g.nodes)
	g.index[k] = i
	g.nodes = append(g.nodes, k)
	g.after = append(g.after, nil)
	g.indeg = append(g.indeg, 0)
	return i
}

// Len is the number of nodes.
func (g *Graph[K]) Len() int { return len(g.nodes) }

// Has tells whether k is a node.
func (g *Graph[K]) Has(k K) bool {
	_, ok := g.index[k]
	return ok
}

// Nodes returns all nodes in the order in which they were added.
func (g *Graph[K]) Nodes() []K { return slices.Clone(g.nodes) }

// Next returns the nodes that come directly after k.
func (g *Graph[K]) Next(k K) []K {
	i, ok := g.index[k]
	if !ok {
		return nil
	}
	out := make([]K, 0, len(g.after[i]))
	for _, j := range g.after[i] {
		out = append(out, g.nodes[j])
	}
	return out
}

// Reach returns every node that comes after k, directly or not, in the order
// in which nodes were added. k itself is in it only if it is in a cycle.
func (g *Graph[K]) Reach(k K) []K {
	start, ok := g.index[k]
	if !ok {
		return nil
	}
	seen := make([]bool, len(g.nodes))
	stack := slices.Clone(g.after[start])
	for len(stack) > 0 {
		i := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if seen[i] {
			continue
		}
		seen[i] = true
		stack = append(stack, g.after[i]...)
	}
	var out []K
	for i, s := range seen {
		if s {
			out = append(out, g.nodes[i])
		}
	}
	return out
}
