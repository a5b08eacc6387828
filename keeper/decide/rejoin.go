package decide

import (
	"fmt"
	"slices"
	"time"

	"deployer/cluster"
	"deployer/keeper/world"
)

// Lost returns why the member of etcd on the keeper's host cannot serve again by itself; empty when it can,
// or the host has none.
func Lost(host string, own world.Own, e world.Etcd) string {
	at := memberOf(host, e)
	if own.Member == nil || at < 0 {
		return ""
	}
	m, others := e.Members[at], slices.ContainsFunc(e.Members, func(m cluster.EtcdMemberState) bool { return m.Host != host && m.Serves })
	switch {
	case !others: // nobody knows whether it is a member
	case m.Serves && !m.Learner:
	case own.Member.Served && !own.Member.Data:
		return "its data is gone"
	case own.Member.Served && !m.Listed:
		return "it was removed from the cluster"
	case !own.Member.Served && m.Listed && m.Learner:
		return "it was added, and does not vote yet"
	}
	return ""
}

func memberOf(host string, e world.Etcd) int {
	return slices.IndexFunc(e.Members, func(m cluster.EtcdMemberState) bool { return m.Host == host })
}

// Rejoin returns whether the keeper's host becomes a member of etcd anew. lost is the reason of [Lost], and since
// the time since when it holds: a disk may be mounted late. All other members must serve, so that at most one
// member is replaced at a time.
func Rejoin(s cluster.KeeperEtcdSpec, host string, lost string, since time.Time, w world.World) (d Decision) {
	if lost == "" {
		return d
	}
	const what = "replace the etcd member of "
	if !*s.Replace {
		d.block(what+host, "%s; cluster.keeper.etcd.replace is false: run deployer etcd replace %s", lost, host)
		return d
	}
	for _, m := range w.Etcd.Members {
		switch {
		case m.Host == host:
		case m.Host == "":
			d.block(what+host, "etcd has a member %s that no host of the inventory has: deployer etcd status shows it", m.Member)
			return d
		case !m.Serves || m.Learner:
			d.block(what+host, "%s, but etcd on %s does not serve either, and only one member is replaced at a time: a person decides", lost, m.Host)
			return d
		}
	}
	if left := s.ReplaceAfter - w.Now.Sub(since); left > 0 {
		return d // EtcdMemberDown or EtcdMemberMissing says that it does not serve
	}
	m := w.Etcd.Members[memberOf(host, w.Etcd)]
	a := Action{Kind: RejoinEtcd, Object: NodeNamed(host), Why: fmt.Sprintf("%s since %s", lost, short(w.Now.Sub(since)))}
	if a.Finish = m.Learner && m.Answers; m.Listed && !a.Finish {
		a.Member = m.ID
	}
	d.do(a)
	return d
}
