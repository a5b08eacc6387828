package decide

import (
	"cmp"
	"fmt"
	"slices"

	"deployer/cluster"
	"deployer/keeper/world"
)

// PurgeOf returns the node that leaves the cluster now, of those that are gone: the one that has been
// for the longest time. One node leaves in a pass, so that each decision sees the cluster that the last
// one left.
func PurgeOf(all cluster.KeeperSpec, w world.World) (d Decision) {
	s := all.Purge
	if !s.Enabled {
		return d
	}
	nodes := slices.Clone(w.Nodes)
	slices.SortStableFunc(nodes, func(a, b world.Node) int { return a.Since.Compare(b.Since) })
	for _, n := range nodes {
		isLost, but := gone(n, w, s.UnreachableFor)
		if !isLost {
			continue
		}
		what := "purge node " + n.Name
		for _, rule := range []func() string{
			func() string { return MayPurge(s, w.Nodes, n) },
			func() string { return mayLeaveEtcd(n, w.Etcd) },
			func() string { return Split(w.Nodes) },
			func() string { return mayRun(all.Fence, n) },
		} {
			if but == "" {
				but = rule()
			}
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
	case masters < *s.MinReadyMasters:
		return fmt.Sprintf("%s would be left, and cluster.keeper.purge.min_ready_masters is %d", counted(masters, "Ready master"), *s.MinReadyMasters)
	case minions < s.MinReadyMinions:
		return fmt.Sprintf("%s would be left, and cluster.keeper.purge.min_ready_minions is %d", counted(minions, "Ready minion"), s.MinReadyMinions)
	}
	return ""
}

// mayLeaveEtcd returns the reason why the member of etcd of a node must stay, and so the node; empty when the
// node has none, or all other members serve: then at most one member is missing at a time.
func mayLeaveEtcd(n world.Node, e world.Etcd) string {
	if !n.Etcd {
		return ""
	}
	at := memberOf(n.Name, e)
	down := notServing(e, n.Name)
	switch {
	case !e.Known || at < 0:
		return "the members of etcd are not known"
	case !slices.ContainsFunc(e.Members, func(m cluster.EtcdMemberState) bool { return m.Host != n.Name && m.Serves }):
		return "no other member of etcd serves"
	case e.Members[at].Listed && down != "": // one that is not listed has left before
		return "etcd on " + down + " does not serve either, and one member leaves at a time"
	}
	return ""
}

// notServing returns the name of a member that does not serve or has no vote, of all but one host; empty when
// there is none.
func notServing(e world.Etcd, except string) string {
	for _, m := range e.Members {
		if (m.Host != except || m.Host == "") && (!m.Serves || m.Learner) {
			return cmp.Or(m.Host, m.Member, m.ID)
		}
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
