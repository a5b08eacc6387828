package cluster

import (
	"fmt"
	"slices"
)

// EtcdMayRemove returns nil when a member may be removed from a running cluster now.
// Callers call it immediately before the removal, with the present members. The error
// names the state to wait for.
//
// The healthy voters must be a majority before the removal, because etcd agrees on it,
// and must still be one after it. At least one voter must stay, and no other member may
// be joining. A voter that serves is removed only while all others serve, too; one that is
// down is removed in any case, because that repairs the cluster.
func EtcdMayRemove(live *EtcdLive, id uint64) error {
	voters, healthy, after := 0, 0, 0
	serves := false
	var silent []string // names of other voters that are down
	for _, m := range live.Members {
		if m.ID != id && (m.Learner || !m.Started) {
			return errJoining(m)
		}
		if m.Learner {
			continue
		}
		voters++
		if m.Healthy {
			healthy++
		}
		if m.ID == id {
			serves = m.Healthy
			continue
		}
		after++
		if !m.Healthy {
			silent = append(silent, label(m))
		}
	}
	switch healthyAfter := after - len(silent); {
	case healthy < quorum(voters):
		return fmt.Errorf("only %d of %d members are healthy: a removal needs %d", healthy, voters, quorum(voters))
	case after == 0:
		return fmt.Errorf("no voting member would be left")
	case healthyAfter < quorum(after):
		return fmt.Errorf("only %d of the %d members that stay are healthy: a majority of %d would be lost", healthyAfter, after, quorum(after))
	case serves && len(silent) > 0:
		return fmt.Errorf("%s not serve, and a member that serves is removed only while all others serve: %s", doNot("member", silent), repairHint(silent))
	}
	return nil
}

// PlanEtcdRemoval returns members in the order in which they may be removed, one at a
// time: silent members come first, because their removal strengthens the quorum. PlanEtcdRemoval applies
// [EtcdMayRemove] before each removal and returns its error when a removal is not
// allowed. Members that are not in the cluster are left out.
func PlanEtcdRemoval(live *EtcdLive, ids []uint64) ([]uint64, error) {
	var order []uint64
	for _, healthy := range []bool{false, true} {
		for _, m := range live.Members {
			if slices.Contains(ids, m.ID) && m.Healthy == healthy {
				order = append(order, m.ID)
			}
		}
	}
	for _, id := range order {
		if err := EtcdMayRemove(live, id); err != nil {
			i := slices.IndexFunc(live.Members, func(m LiveMember) bool { return m.ID == id })
			return nil, fmt.Errorf("member %s must not be removed: %w", label(live.Members[i]), err)
		}
		live = live.without(id)
	}
	return order, nil
}

// Member returns the member of a host: by its peer URL, otherwise by its name. The peer
// URL may be empty.
func (l *EtcdLive) Member(name, peerURL string) (LiveMember, bool) {
	return l.member(EtcdProbe{Name: name, PeerURL: peerURL})
}
