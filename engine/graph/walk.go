package graph

import (
	"container/heap"
	"slices"
)

// Walk goes through a graph as its nodes get done: Ready says what may begin,
// Done says that something ended and so may let others begin. It works on the
// graph as it was when the walk began. Not safe for concurrent use.
type Walk[K comparable] struct {
	g     *Graph[K]
	indeg []int
	begun []bool
	done  []bool
	ready ints
	left  int
}

// Walk begins a walk. The error is a *CycleError when it could not end.
func (g *Graph[K]) Walk() (*Walk[K], error) {
	if _, err := g.Order(); err != nil {
		return nil, err
	}
	w := &Walk[K]{
		g: g, indeg: slices.Clone(g.indeg), left: len(g.nodes),
		begun: make([]bool, len(g.nodes)), done: make([]bool, len(g.nodes)),
	}
	for i, n := range w.indeg {
		if n == 0 {
			w.ready = append(w.ready, i)
		}
	}
	return w, nil
}

// Ready takes out all nodes that may begin now and were not taken out before.
func (w *Walk[K]) Ready() []K {
	var out []K
	for w.ready.Len() > 0 {
		i := heap.Pop(&w.ready).(int)
		w.begun[i] = true
		out = append(out, w.g.nodes[i])
	}
	return out
}

// Done says that k ended. It has no effect for a node that Ready has not
// given out, or that is done already.
func (w *Walk[K]) Done(k K) {
	i, ok := w.g.index[k]
	if !ok || i >= len(w.begun) || !w.begun[i] || w.done[i] {
		return
	}
	w.done[i] = true
	w.left--
	for _, j := range w.g.after[i] {
		if w.indeg[j]--; w.indeg[j] == 0 {
			heap.Push(&w.ready, j)
		}
	}
}

// Left is the number of nodes that are not done.
func (w *Walk[K]) Left() int { return w.left }
