package cluster

import (
	"fmt"
	"slices"
	"strings"
)

// EtcdMayRestart returns nil when a member may be stopped now, to start again with other
// programs, flags or certificates. Callers call it immediately before the change, with the
// present members; live is nil when no member serves. The error names the members that do
// not serve.
//
// A member that does not serve, does not vote or is not listed may restart at any time: no
// majority needs it. A voter that serves may only when the other voters that serve are a
// majority of all, which with three members means that all three serve: the rule by which
// cluster-etcd-operator changes its members (a quorum plus one). One or two voters have
// no majority without one of them, so their cluster is away while one restarts; two only
// restart one while both serve, because otherwise no member serves.
func EtcdMayRestart(live *EtcdLive, id uint64) error {
	if live == nil {
		return nil
	}
	i := slices.IndexFunc(live.Members, func(m LiveMember) bool { return m.ID == id })
	if i < 0 || !live.Members[i].Healthy || live.Members[i].Learner {
		return nil
	}
	voters, others := 0, 0
	var silent []string
	for _, m := range live.Members {
		if m.Learner {
			continue
		}
		voters++
		switch {
		case !m.Healthy:
			silent = append(silent, label(m))
		case m.ID != id:
			others++
		}
	}
	if voters <= 2 || others >= quorum(voters) {
		return nil
	}
	return fmt.Errorf("%s not serve: without %s only %d of %d members would, and a majority is %d; repair %s first: deployer etcd status shows the state of each member and what repairs it",
		doNot("member", silent), label(live.Members[i]), others, voters, quorum(voters), strings.Join(silent, ", "))
}

// doNot returns the subject of a sentence about members, with its verb.
func doNot(noun string, names []string) string {
	if len(names) == 1 {
		return noun + " " + names[0] + " does"
	}
	return noun + "s " + strings.Join(names, ", ") + " do"
}
