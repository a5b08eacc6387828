package calico

import (
	"slices"

	"deployer/cluster"
	"deployer/engine"
)

// canary is the node whose sessions get changed settings before all others: in a mesh it leaves the mesh
// for sessions of its own with all other nodes, as a reflector does; with reflectors it has sessions of its
// own with these. Both ends of each such session have the settings, so in a mesh every node proves them.
type canary struct {
	node      string // empty: no node has sessions that could go first
	reflector bool   // the node was a reflector before
	mesh      bool
	sessions  []string // names of its sessions in BIRD, with hosts of the run
	leftover  bool     // a run that did not end has chosen it
}

// canaryOf chooses the canary: that of a run that did not end, or the first minion of the run that is no
// reflector, or another node. While the reflectors change there is none.
func canaryOf(c *cluster.Cluster, have sessions, inRun []string) canary {
	out := canary{mesh: have.Mesh}
	var best int
	for _, name := range c.NodeNames {
		rank := 1
		switch {
		case !slices.Contains(inRun, name) || !slices.Contains(have.nodes, name):
			continue
		case slices.Contains(have.canaries, name):
			rank = 4
		case !slices.Contains(have.Reflectors, name) && !slices.Contains(c.Masters, name):
			rank = 3
		case !slices.Contains(have.Reflectors, name):
			rank = 2
		}
		if rank > best {
			best, out.node = rank, name
		}
	}
	others := have.Reflectors
	if have.Mesh {
		others = have.nodes
	}
	others = slices.DeleteFunc(slices.Clone(others), func(name string) bool { return name == out.node })
	if len(others) == 0 || have.New || slices.Contains(have.Peers, cluster.PeerTransition) {
		return canary{mesh: have.Mesh}
	}
	out.reflector = !have.Mesh && slices.Contains(have.Reflectors, out.node)
	out.leftover = slices.Contains(have.canaries, out.node)
	out.sessions = sessionNames{cluster: c, inRun: inRun}.named(cluster.CalicoPeerSession, others)
	return out
}

// output returns the canary for roles.
func (c canary) output() engine.Output {
	return engine.Output{
		"node": c.node, "reflector": c.mesh || c.reflector, "former_reflector": c.reflector,
		"sessions": texts(c.sessions), "leftover": c.leftover, "restarts": !c.mesh && !c.leftover,
	}
}
