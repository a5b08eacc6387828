package decide

import (
	"slices"

	"deployer/cluster"
	"deployer/keeper/world"
)

// NeedsReach reports whether a rule will ask if the host of a node answers: the node has been silent for long, or is
// in maintenance.
func NeedsReach(s cluster.KeeperSpec, w world.World, n world.Node) bool {
	return n.Maintenance.Active(w.Now) || NeedsPods(s, w, n) || s.Purge.Enabled && lost(n, w.Now, s.Purge.UnreachableFor) ||
		len(s.Fence.Hooks) > 0 && n.OutOfService == nil && lost(n, w.Now, s.Fence.UnknownFor)
}

// NeedsPods reports whether a rule will ask for the deleted pods of a node.
func NeedsPods(s cluster.KeeperSpec, w world.World, n world.Node) bool {
	return *s.Clear.Enabled && lost(n, w.Now, s.Clear.UnknownFor)
}

// NeedsMajority reports whether a rule would act on a node that is gone if this host reached a majority of the nodes.
// Only then other nodes are tried: each of a thousand kubelets would see a connection in each pass otherwise, as long
// as a single dead node has not left the cluster.
func NeedsMajority(s cluster.KeeperSpec, w world.World) bool {
	w.Nodes = slices.Clone(w.Nodes)
	for i := range w.Nodes {
		if n := &w.Nodes[i]; n.Reach == world.NotTried && !NeedsReach(s, w, *n) {
			n.Reach = world.Answers
		}
	}
	return len(Clear(s, w).Actions)+len(FenceOf(s.Fence, w).Actions)+len(PurgeOf(s, w).Actions) > 0
}
