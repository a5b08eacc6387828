package decide

import (
	"fmt"
	"slices"

	"deployer/cluster"
	"deployer/keeper/world"
)

// PurgeOf returns the node that leaves the cluster now, of those that are gone: the one that has been
// for the longest time. One node leaves in a pass, so that each decision sees the cluster that the last
// one left.
func PurgeOf(s cluster.KeeperPurgeSpec, w world.World) (d Decision) {
	if !s.Enabled {
		return d
	}
	nodes := slices.Clone(w.Nodes)
	slices.SortStableFunc(nodes, func(a, b world.Node) int { return a.Since.Compare(b.Since) })
	for _, n := range nodes {
		isLost, but := gone(n, w.Now, s.UnreachableFor)
		if !isLost {
			continue
		}
		what := "purge node " + n.Name
		if but == "" {
			but = Split(w.Nodes)
		}
		if but == "" {
			but = MayPurge(s, w.Nodes, n)
		}
		switch {
		case but != "":
			d.block(what, "%s", but)
		case len(d.Actions) > 0:
			d.block(what, "one node leaves at a time, and %s leaves now", d.Actions[0].Node.Name)
		default:
			d.do(Action{Kind: Purge, Object: nodeObject(n), Node: n, Why: "it has not reported for " + short(w.Now.Sub(n.Since)) + ", and its host does not answer"})
		}
	}
	return d
}

// MayPurge returns the reason why a node must stay by the minimums of Ready nodes that would remain;
// empty when it may leave.
func MayPurge(s cluster.KeeperPurgeSpec, nodes []world.Node, leaving world.Node) string {
	masters, minions := 0, 0
	for _, n := range nodes {
		switch {
		case n.Name == leaving.Name || n.Ready != world.True:
		case n.Master:
			masters++
		default:
			minions++
		}
	}
	switch {
	case masters < s.MinReadyMasters:
		return fmt.Sprintf("%s would be left, and cluster.keeper.purge.min_ready_masters is %d", counted(masters, "Ready master"), s.MinReadyMasters)
	case minions < s.MinReadyMinions:
		return fmt.Sprintf("%s would be left, and cluster.keeper.purge.min_ready_minions is %d", counted(minions, "Ready minion"), s.MinReadyMinions)
	}
	return ""
}

func count(n, of int) string { return fmt.Sprintf("%d of %d nodes", n, of) }

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
