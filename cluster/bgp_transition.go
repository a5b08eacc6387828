package cluster

import (
	"cmp"
	"slices"
)

// BGPTransition is the transition of a cluster in use from its present BGP sessions
// to those of the inventory. A session that is removed, and one whose end becomes or
// ceases to be a reflector, carries routes until the sessions that replace it do. All
// nodes therefore first have the present and the wanted sessions, and then only the
// wanted ones.
type BGPTransition struct {
	// Needed reports whether present sessions are removed or change. New sessions
	// alone need no transition.
	Needed bool
	// Both are the present and the wanted sessions of each node; nil when not Needed.
	Both map[string][]Peer
	// Final are the sessions after the run, of the nodes whose sessions then differ
	// from those of the inventory: while a node cannot be examined, all nodes keep
	// the sessions on which it may depend.
	Final map[string][]Peer
}

// PlanBGPTransition compares the wanted sessions of all nodes with the present ones. A node
// that could not be examined is not in present; one that joins has an empty list there. A
// peer that is not in wanted leaves the cluster.
func PlanBGPTransition(wanted, present map[string][]Peer) BGPTransition {
	t := BGPTransition{Both: map[string][]Peer{}, Final: map[string][]Peer{}}
	complete := true
	for node := range wanted {
		complete = complete && present[node] != nil
	}
	for node, want := range wanted {
		t.Both[node] = mergePeers(want, present[node])
		final := want
		if !complete {
			staying := slices.DeleteFunc(slices.Clone(present[node]), func(p Peer) bool { return wanted[p.Name] == nil })
			final = mergePeers(want, staying)
			if !slices.Equal(final, want) {
				t.Final[node] = final
			}
		}
		t.Needed = t.Needed || slices.ContainsFunc(present[node], func(p Peer) bool {
			_, stays := wanted[p.Name]
			return (stays || p.Reflector) && !hasPeer(final, p)
		})
	}
	if !t.Needed {
		t.Both = nil
	}
	return t
}

// mergePeers returns the sessions of both lists. A session of both lists passes on routes
// when it does so in one of them.
func mergePeers(want, present []Peer) []Peer {
	out := slices.Clone(want)
	var others []Peer
	for _, p := range present {
		i := slices.IndexFunc(out, func(w Peer) bool { return w.Name == p.Name })
		if i < 0 {
			others = append(others, p)
			continue
		}
		out[i].Client, out[i].Reflector = out[i].Client || p.Client, out[i].Reflector || p.Reflector
	}
	slices.SortFunc(others, func(a, b Peer) int { return cmp.Compare(a.Name, b.Name) })
	return append(out, others...)
}

// hasPeer reports whether the list has a session as it is.
func hasPeer(peers []Peer, p Peer) bool {
	return slices.ContainsFunc(peers, func(q Peer) bool {
		return q.Name == p.Name && q.Client == p.Client && q.Reflector == p.Reflector
	})
}
