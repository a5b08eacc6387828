// Package graph sorts nodes: [Graph.AddEdge] says which node comes before which,
// [Graph.Order] returns an order that respects every edge, or the cycle that makes
// one impossible. The compiler of playbooks sorts handlers with it, and finds roles,
// labels and barriers that wait for each other. A Graph knows nothing of its nodes.
//
// Results are deterministic: where the edges leave a choice, nodes come in the
// order in which they were added. A Graph is not safe for concurrent use.
package graph

// Graph holds nodes of type K and edges between them. The zero value is not usable;
// see [New].
type Graph[K comparable] struct {
	nodes []K
	index map[K]int
	after [][]int // after[i] lists the nodes that come after node i
	indeg []int   // number of nodes that come directly before node i
	edges map[[2]int]struct{}
}

// New returns an empty graph.
func New[K comparable]() *Graph[K] {
	return &Graph[K]{index: map[K]int{}, edges: map[[2]int]struct{}{}}
}

// Add adds nodes. A node that is already in the graph keeps its place.
func (g *Graph[K]) Add(nodes ...K) {
	for _, k := range nodes {
		g.id(k)
	}
}

// AddEdge makes before come before after, and adds the nodes that are missing. The
// same edge twice counts once; an edge from a node to itself is a cycle.
func (g *Graph[K]) AddEdge(before, after K) {
	edge := [2]int{g.id(before), g.id(after)}
	if _, dup := g.edges[edge]; dup {
		return
	}
	g.edges[edge] = struct{}{}
	g.after[edge[0]] = append(g.after[edge[0]], edge[1])
	g.indeg[edge[1]]++
}

// id returns the number of a node, and adds the node when it is new.
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
