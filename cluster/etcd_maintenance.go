package cluster

import (
	"cmp"
	"errors"
	"fmt"
)

// EtcdMemberState is an etcd member in the member list and in its own status; when the
// member does not answer, the fields of its status are zero.
type EtcdMemberState struct {
	Host     string   `json:"host"`      // name of the host; empty for a member without a host in the inventory
	Member   string   `json:"member"`    // name in the member list; empty until the member has started once
	ID       string   `json:"id"`        // member id in hexadecimal, as etcdctl prints it; empty when the member list has none for the host
	PeerURLs []string `json:"peer_urls"` // peer URLs in the member list
	Listed   bool     `json:"listed"`    // true when the member list has the member; false also when no member can be asked
	Answers  bool     `json:"answers"`   // true when the member reports its status
	Serves   bool     `json:"serves"`    // true when the member serves linearizable reads, which needs a majority
	Leader   bool     `json:"leader"`
	Learner  bool     `json:"learner"`
	Version  string   `json:"version"`
	Revision int64    `json:"revision"`  // revision of the database
	DBSize   int64    `json:"db_size"`   // size of the database file in bytes
	DBInUse  int64    `json:"db_in_use"` // number of bytes of the database file that hold data
	Quota    int64    `json:"db_quota"`  // size of the database file in bytes at which etcd refuses writes; 0 when the member does not report it (etcd 3.5)
	Problem  string   `json:"problem"`   // reason why the member does not serve; empty when it does
}

// Fragmentation returns the share of the database file that holds no data, from 0 to 1.
func (m EtcdMemberState) Fragmentation() float64 {
	if m.DBSize <= 0 || m.DBInUse >= m.DBSize {
		return 0
	}
	return 1 - float64(m.DBInUse)/float64(m.DBSize)
}

// Defragmentation pays off for files of at least this size, of which at least this share
// holds no data. Both figures come from OpenShift's cluster-etcd-operator
// (pkg/operator/defragcontroller).
const (
	MinDefragBytes = 100 << 20
	MinDefragShare = 0.45
)

// EtcdSnapshotHost returns the host whose member a snapshot is taken of: a follower that
// serves, else the leader. Without a majority it is the member with the highest revision:
// that member has most of the data that clients have written. EtcdSnapshotHost fails when no member answers.
func EtcdSnapshotHost(all []EtcdMemberState) (string, error) {
	var best *EtcdMemberState
	for i, m := range all {
		if m.Answers && !m.Learner && (best == nil || betterSnapshot(m, *best)) {
			best = &all[i]
		}
	}
	if best == nil {
		return "", errors.New("no etcd member answers: start etcd on the hosts that have its data; when no majority of them is left, deployer etcd backup --offline saves what they have")
	}
	return best.Host, nil
}

// betterSnapshot reports whether a snapshot of a is better than one of b.
func betterSnapshot(a, b EtcdMemberState) bool {
	switch {
	case a.Serves != b.Serves:
		return a.Serves
	case a.Serves:
		return b.Leader && !a.Leader
	}
	return a.Revision > b.Revision
}

// EtcdDefragOrder returns the hosts whose databases are worth a defragmentation, the
// leader last: a member does not answer during its defragmentation, so a leader causes an
// election. all selects the others too. EtcdDefragOrder fails unless every member of the cluster
// serves, because a member that is silent counts as one that is down.
func EtcdDefragOrder(members []EtcdMemberState, all bool) ([]string, error) {
	hosts, leader := []string{}, ""
	for _, m := range members {
		if !m.Serves || m.Learner {
			return nil, fmt.Errorf("member %s does not serve: %s", m.Host, cmp.Or(m.Problem, "it is a learner"))
		}
		switch {
		case !all && (m.DBSize < MinDefragBytes || m.Fragmentation() < MinDefragShare):
		case m.Leader:
			leader = m.Host
		default:
			hosts = append(hosts, m.Host)
		}
	}
	if leader != "" {
		hosts = append(hosts, leader)
	}
	return hosts, nil
}

// EtcdBelowQuota returns an error when the database file of a member has reached its quota:
// then the next write raises the alarm NOSPACE again.
func EtcdBelowQuota(members []EtcdMemberState) error {
	for _, m := range members {
		if m.Quota > 0 && m.DBSize >= m.Quota {
			return fmt.Errorf("the database of member %s has %d MiB, and its quota is %d MiB", m.Host, m.DBSize>>20, m.Quota>>20)
		}
	}
	return nil
}
