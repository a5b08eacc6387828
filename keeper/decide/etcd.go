package decide

import (
	"fmt"
	"slices"
	"strings"

	"deployer/cluster"
	"deployer/keeper/world"
)

// etcdObject stands for the etcd cluster.
var etcdObject = Object{Kind: "etcd", Name: "cluster"}

// EtcdCare returns what the etcd cluster needs.
func EtcdCare(s cluster.KeeperEtcdSpec, w world.World) (d Decision) {
	if !w.Etcd.Known {
		return d
	}
	if w.Etcd.NoSpace {
		const what = "free space in etcd"
		counted := w.Etcd
		if !*s.Replace { // else a host whose member has left may make a new one at this moment
			counted = withoutDeparted(w.Etcd)
		}
		down := notServing(counted, "")
		switch {
		case !*s.FreeSpace:
			d.block(what, "cluster.keeper.etcd.free_space is false: run deployer etcd defrag")
		case down != "":
			d.block(what, "etcd on %s does not serve, and another member does not answer while it is defragmented", down)
		default:
			d.do(Action{Kind: FreeSpace, Object: etcdObject, Hosts: memberHosts(w.Etcd), Why: "its database is full, and it refuses writes"})
		}
		return d
	}
	order, err := cluster.EtcdDefragOrder(w.Etcd.Members, false)
	if err != nil || len(order) == 0 {
		return d // Problems says that a member does not serve
	}
	if !*s.Defragment {
		d.block("defragment etcd", "cluster.keeper.etcd.defragment is false: run deployer etcd defrag")
		return d
	}
	d.do(Action{Kind: Defragment, Object: etcdObject, Hosts: order, Why: "much of the files holds no data on " + strings.Join(order, ", ")})
	return d
}

// withoutDeparted leaves out hosts of the configuration whose members have left, such as by a purge: until the next run
// the configuration has them.
func withoutDeparted(e world.Etcd) world.Etcd {
	if slices.ContainsFunc(e.Members, func(m cluster.EtcdMemberState) bool { return m.Listed }) {
		e.Members = slices.DeleteFunc(slices.Clone(e.Members), func(m cluster.EtcdMemberState) bool { return m.Host != "" && !m.Listed })
	}
	return e
}

// memberHosts returns the hosts of the inventory with a member of etcd.
func memberHosts(e world.Etcd) (out []string) {
	for _, m := range e.Members {
		if m.Host != "" && m.Listed {
			out = append(out, m.Host)
		}
	}
	return out
}

// Problem is a state that a person should know.
type Problem struct {
	Reason  string `json:"reason"`  // a word for machines, in the form of reasons of Kubernetes
	Message string `json:"message"` // one line: the fault and the advice
}

// etcdProblems returns the members that do not serve.
func etcdProblems(w world.World) (out []Problem) {
	if w.Etcd.NoSpace {
		out = append(out, Problem{EtcdNoSpace, "the database of etcd is full, and nothing can be written: deployer etcd defrag frees what it can"})
	}
	for _, m := range w.Etcd.Members {
		switch {
		case m.Host == "":
			out = append(out, Problem{EtcdMemberUnknown, fmt.Sprintf("etcd has a member %s that no host of the inventory has: deployer etcd status shows it", m.Member)})
		case !m.Listed:
			out = append(out, Problem{EtcdMemberMissing, fmt.Sprintf("etcd on %s is no member: deployer install -l %s makes it one", m.Host, m.Host)})
		case m.Learner:
			out = append(out, Problem{EtcdLearner, fmt.Sprintf("etcd on %s is a learner and has no vote yet", m.Host)})
		case !m.Serves:
			out = append(out, Problem{EtcdMemberDown, fmt.Sprintf("etcd on %s does not serve: %s", m.Host, m.Problem)})
		}
	}
	return out
}
