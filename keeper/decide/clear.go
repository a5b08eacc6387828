package decide

import (
	"cmp"

	"deployer/cluster"
	"deployer/keeper/world"
)

// Clear returns the pods to force-delete: those that somebody deleted on a node that is gone, where no
// kubelet ends them. Other pods are never touched.
func Clear(all cluster.KeeperSpec, w world.World) (d Decision) {
	s := all.Clear
	if !*s.Enabled {
		return d
	}
	nodes := map[string]world.Node{}
	for _, n := range w.Nodes {
		nodes[n.Name] = n
	}
	split := Split(w.Nodes)
	blocked := map[string]bool{}
	for _, p := range w.Ending {
		n, known := nodes[p.Node]
		if !known || p.Deleted.IsZero() || w.Now.Sub(p.Deleted) < s.TerminatingFor {
			continue
		}
		isLost, but := gone(n, w, s.UnknownFor)
		if !isLost {
			continue
		}
		if but == "" {
			but = cmp.Or(split, mayRun(all.Fence, n))
		}
		if but != "" {
			if !blocked[n.Name] {
				d.block("clear the pods of node "+n.Name, "%s", but)
			}
			blocked[n.Name] = true
			continue
		}
		d.do(Action{Kind: ForceDelete, Object: podObject(p), Node: n,
			Why: "node " + n.Name + " has not reported for " + short(w.Now.Sub(n.Since)) + ", and the pod was deleted " + short(w.Now.Sub(p.Deleted)) + " ago"})
	}
	return d
}
