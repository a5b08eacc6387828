package decide

import (
	"slices"
	"time"

	"deployer/cluster"
	"deployer/keeper/world"
)

// fencingHour is the time in which max_per_hour machines may be switched off.
const fencingHour = time.Hour

// FenceOf returns the node that is gone and whose machine is switched off now: the one that has been gone for the longest
// time, one in a pass, and no more in an hour than the setting permits. A failure of the network looks like the death of
// many machines, and is none.
func FenceOf(s cluster.KeeperFenceSpec, w world.World) (d Decision) {
	if len(s.Hooks) == 0 {
		return d
	}
	fenced := 0
	for _, n := range w.Nodes {
		if o := n.OutOfService; o != nil && o.ByKeeper && w.Now.Sub(o.Since) < fencingHour {
			fenced++
		}
	}
	nodes := slices.Clone(w.Nodes)
	slices.SortStableFunc(nodes, func(a, b world.Node) int { return a.Since.Compare(b.Since) })
	for _, n := range nodes {
		isLost, but := gone(n, w, s.UnknownFor)
		if !isLost || n.OutOfService != nil {
			continue
		}
		for _, rule := range []func() string{
			func() string { return mayLeaveEtcd(n, w.Etcd) },
			func() string { return Split(w.Nodes) },
		} {
			if but == "" {
				but = rule()
			}
		}
		what := "switch off the machine of node " + n.Name
		switch {
		case but != "":
			d.block(what, "%s", but)
		case len(d.Actions) > 0:
			d.block(what, "one machine is switched off at a time, and that of %s is now", d.Actions[0].Node.Name)
		case fenced >= s.MaxPerHour:
			d.block(what, "%s switched off in the last hour, and cluster.keeper.fence.max_per_hour is %d", counted(fenced, "machine"), s.MaxPerHour)
		default:
			d.do(Action{Kind: Fence, Object: nodeObject(n), Node: n, Why: "it has not reported for " + short(w.Now.Sub(n.Since)) + ", and its host does not answer"})
		}
	}
	return d
}

// UnfenceOf returns the nodes that are Ready again and take pods again. Only taints of the keeper are removed.
func UnfenceOf(w world.World) (d Decision) {
	for _, n := range w.Nodes {
		if o := n.OutOfService; o != nil && o.ByKeeper && n.Ready == world.True && !n.Since.Before(o.Since) {
			d.do(Action{Kind: Unfence, Object: nodeObject(n), Node: n, Why: "it is Ready again since " + n.Since.UTC().Format(time.RFC3339)})
		}
	}
	return d
}
