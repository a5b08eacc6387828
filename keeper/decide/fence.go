package decide

import (
	"slices"
	"time"

	"deployer/cluster"
	"deployer/keeper/world"
)

// fencingHour is the time in which max_per_hour machines may be switched off.
const fencingHour = time.Hour

// rebootTime is the time for which a node that its own host has cordoned for a reboot is left alone: firmware that is
// updated while the machine starts must not lose its power.
const rebootTime = 30 * time.Minute

// FenceOf returns the node that is gone and whose machine is switched off now: the one that has been gone for the longest
// time, one in a pass. No more are tried in an hour than the setting permits, whether their hooks succeed or not: a failure
// of the network looks like the death of many machines, and is none. A node whose hooks have just failed leaves its place
// to the next.
func FenceOf(s cluster.KeeperFenceSpec, w world.World) (d Decision) {
	if len(s.Hooks) == 0 {
		return d
	}
	nodes := slices.Clone(w.Nodes)
	slices.SortStableFunc(nodes, func(a, b world.Node) int { return a.Since.Compare(b.Since) })
	for _, n := range nodes {
		isLost, but := gone(n, w, s.UnknownFor)
		if !isLost || n.OutOfService != nil {
			continue
		}
		for _, rule := range []func() string{
			func() string { return reboots(n, w.Now) },
			func() string { return mayLeaveEtcd(n, w.Etcd) },
			func() string { return Split(w.Nodes) },
			func() string { return fencedBefore(n, w) },
		} {
			if but == "" {
				but = rule()
			}
		}
		what := "switch off the machine of node " + n.Name
		tried := machinesTried(w, n)
		switch {
		case but != "":
			d.block(what, "%s", but)
		case len(d.Actions) > 0:
			d.block(what, "one machine is switched off at a time, and that of %s is now", d.Actions[0].Node.Name)
		case tried >= *s.MaxPerHour:
			d.block(what, "%s tried in the last hour, and cluster.keeper.fence.max_per_hour is %d", counted(tried, "other machine"), *s.MaxPerHour)
		default:
			d.do(Action{Kind: Fence, Object: nodeObject(n), Node: n, Why: "it has not reported for " + short(w.Now.Sub(n.Since)) + ", and its host does not answer"})
		}
	}
	return d
}

// reboots returns the reason why a node that is away is left alone: its own host has cordoned it for a reboot.
func reboots(n world.Node, now time.Time) string {
	if left := rebootTime - now.Sub(n.Since); n.Reboots && left > 0 {
		return "its host has cordoned it for a reboot, for which it has " + short(left) + " more"
	}
	return ""
}

// fencedBefore returns the reason why the hooks of a node do not run now: they did a moment ago.
func fencedBefore(n world.Node, w world.World) string {
	for _, f := range w.Fences {
		if wait := again - w.Now.Sub(f.At); f.Node == n.Name && f.UID == n.UID && f.At.After(n.Since) && wait > 0 {
			return "its hooks did not succeed at " + f.At.UTC().Format("15:04:05 MST") + " (deployer runs keeper has the reason), and run again in " + short(wait)
		}
	}
	return ""
}

// machinesTried returns the number of other machines for which hooks ran in the last hour.
func machinesTried(w world.World, except world.Node) int {
	names := map[string]bool{}
	for _, f := range w.Fences {
		if f.Node != except.Name && w.Now.Sub(f.At) < fencingHour {
			names[f.Node] = true
		}
	}
	return len(names)
}

// mayRun returns the reason why the pods and the Node of a machine that shall be switched off stay; empty without hooks for
// that, or when the machine is off.
func mayRun(s cluster.KeeperFenceSpec, n world.Node) string {
	if len(s.Hooks) == 0 || n.OutOfService != nil {
		return ""
	}
	return "its machine may run: it is not switched off yet (cluster.keeper.fence)"
}

// UnfenceOf returns the nodes that are Ready again and take pods again. Only taints of the keeper are removed. Clocks are
// not compared: that of a machine that was off may be wrong.
func UnfenceOf(w world.World) (d Decision) {
	for _, n := range w.Nodes {
		if o := n.OutOfService; o != nil && o.ByKeeper && n.Ready == world.True {
			d.do(Action{Kind: Unfence, Object: nodeObject(n), Node: n, Why: "it is Ready again since " + n.Since.UTC().Format(time.RFC3339)})
		}
	}
	return d
}
