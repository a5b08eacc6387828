package cluster

import (
	"fmt"
	"slices"
)

// EtcdMayReaddress returns nil when the peer URL of a member may change now, in the member
// list of a running cluster. Callers call it immediately before each change, with the
// present members. The error names the state to wait for.
//
// The others connect to the new URL at once, and the member listens there when it has
// started again. So a member that serves changes only while all others serve; one that is
// down changes as soon as a majority serves without it. No other member may be joining, or
// have the URL.
func EtcdMayReaddress(live *EtcdLive, id uint64, peerURL string) error {
	voters, healthy, serves := 0, 0, false
	silent := ""
	for _, m := range live.Members {
		switch {
		case m.ID == id:
			serves = m.Healthy
		case slices.Contains(m.PeerURLs, peerURL):
			return fmt.Errorf("member %s has the peer URL %s: its own address must change first", label(m), peerURL)
		case m.Learner || !m.Started:
			return fmt.Errorf("member %s is still joining the cluster: only one change at a time is allowed", label(m))
		case !m.Healthy:
			silent = label(m)
		}
		if m.Learner {
			continue
		}
		voters++
		if m.Healthy {
			healthy++
		}
	}
	switch {
	case healthy < quorum(voters):
		return fmt.Errorf("only %d of %d members are healthy: a change needs %d", healthy, voters, quorum(voters))
	case serves && silent != "":
		return fmt.Errorf("member %s does not serve: a member that serves changes its address only while all others do", silent)
	}
	return nil
}
