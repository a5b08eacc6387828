package cluster

import (
	"errors"
	"fmt"
)

// EtcdReplacement is the plan of a replacement: a new, empty member takes the place of the
// member of a host.
type EtcdReplacement struct {
	RemoveID uint64 // id of the member that the cluster lists for the host; 0: none
	Serves   bool   // true when the listed member answers
	Learner  bool   // true when the listed member does not vote
	Archive  bool   // true when the host holds data, which is moved aside
}

// PlanEtcdReplacement returns the plan for the host that was probed. PlanEtcdReplacement fails unless every
// other member is a started voter that serves, and a majority of the voters agrees to
// the removal: then the cluster has its majority before, during and after the
// replacement, with the host down all the time.
//
// A replacement that was killed is planned again from the state that it left: a member that
// was removed already has no RemoveID, one that was added and never started is removed
// like any other.
func PlanEtcdReplacement(h EtcdProbe, live *EtcdLive) (EtcdReplacement, error) {
	if live == nil || len(live.Members) == 0 {
		return EtcdReplacement{}, errors.New("no majority of etcd's members serves, so the member list cannot change: start the members that have their data, or restore a backup with deployer etcd restore")
	}
	if !h.Reachable {
		return EtcdReplacement{}, fmt.Errorf("%s cannot be reached: bring the machine back, or remove it with deployer scale-down --dead %s", h.Name, h.Name)
	}
	own, listed := live.member(h)
	others := 0
	for _, m := range live.Members {
		switch {
		case listed && m.ID == own.ID:
		case m.Learner || !m.Started:
			return EtcdReplacement{}, fmt.Errorf("member %s is still joining the cluster: only one change at a time is allowed", label(m))
		case !m.Healthy:
			return EtcdReplacement{}, fmt.Errorf("member %s does not serve, and one member is replaced at a time: repair it first", label(m))
		default:
			others++
		}
	}
	if others == 0 {
		return EtcdReplacement{}, fmt.Errorf("%s has the only voting member: add masters first, or restore a backup with deployer etcd restore", h.Name)
	}
	plan := EtcdReplacement{Archive: h.HasData}
	if listed {
		plan.RemoveID, plan.Serves, plan.Learner = own.ID, own.Healthy, own.Learner
		if err := EtcdMayRemove(live, own.ID); err != nil {
			return EtcdReplacement{}, err
		}
	}
	return plan, nil
}
