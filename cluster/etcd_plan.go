package cluster

import (
	"fmt"
	"slices"
	"strings"
)

// The actions of a host for etcd.
const (
	EtcdBootstrap = "bootstrap" // start as part of a new cluster, all at once
	EtcdMember    = "member"    // has its data: start it, if it does not run
	EtcdStart     = "start"     // counted by the cluster but never started: start it with the live members
	EtcdReaddress = "readdress" // has its data and a new address: update its peer URL, then start it
	EtcdJoin      = "join"      // add it as a learner, start it, promote it
	EtcdReplace   = "replace"   // lost its data: remove the old member, then join
	EtcdRefuse    = "refuse"    // do nothing, the reason says why
)

// EtcdProbe is the state of one host of role etcd.
type EtcdProbe struct {
	Name      string
	PeerURL   string
	Reachable bool
	HasData   bool
	ClusterID uint64 // cluster id of the data; 0 when unknown
	MemberID  uint64 // member id of the data; 0 when unknown
	// ListedPeerURL is the peer URL under which the other members know this one, as far as
	// the host shows it while no cluster answers. Empty when it is unknown.
	ListedPeerURL string
	// Established is true when the host proves that an etcd cluster has once worked here: by
	// deployer's own mark, or by the manifest of an API server, which is written only after
	// etcd was healthy.
	Established bool
	// Unchanged is true when the run leaves the member of this host as it is, so that it does
	// not repair one that is down.
	Unchanged bool
}

// LiveMember is a member in the list of the running cluster.
type LiveMember struct {
	ID       uint64
	Name     string // name of the member; empty until it has started once
	PeerURLs []string
	Started  bool // true when the member has published its client URLs
	Healthy  bool // true when the member answers
	Learner  bool
}

// EtcdLive is the running cluster. nil, or without members, means that no member
// answers.
type EtcdLive struct {
	ClusterID uint64
	Members   []LiveMember
}

// EtcdStep is the action of one host.
type EtcdStep struct {
	Action         string `json:"action"`
	InitialCluster string `json:"initial_cluster"` // value of etcd's flag --initial-cluster; a member with data ignores it
	InitialState   string `json:"initial_state"`   // value of etcd's flag --initial-cluster-state: new or existing; a member with data ignores it
	RemoveID       uint64 `json:"remove_id"`       // id of the member that is removed first; 0: none
	Promote        bool   `json:"promote"`         // true when the member becomes a voter as soon as it serves
	Serves         bool   `json:"serves"`          // true when the member of the host served and voted when the plan was made
	Reason         string `json:"reason"`          // reason of the action, for people
}

// EtcdPlan holds the actions of all hosts. Steps that change the membership are executed
// one at a time, in Order, each only when its rule allows it: [EtcdMayAdd], [EtcdMayReplace],
// [EtcdMayReaddress] or [EtcdMayPromote].
type EtcdPlan struct {
	Bootstrap bool                `json:"bootstrap"` // true when all hosts start at the same time, because none can serve before most of them run
	Hosts     map[string]EtcdStep `json:"hosts"`
	Order     []string            `json:"order"` // names of the hosts whose step changes or completes the membership
}

// PlanEtcd decides the action of each etcd host. Probes come in inventory order. PlanEtcd
// never plans a second cluster, never lets a member return without the data that it had,
// and completes an interrupted installation as the same cluster.
func PlanEtcd(probes []EtcdProbe, live *EtcdLive) EtcdPlan {
	if live != nil && len(live.Members) > 0 {
		return planExisting(probes, live)
	}
	if reason := silentReason(probes); reason != "" {
		return refuseAll(probes, reason)
	}
	data := slices.ContainsFunc(probes, func(h EtcdProbe) bool { return h.HasData })
	established := slices.ContainsFunc(probes, func(h EtcdProbe) bool { return h.Established })
	if data && established {
		if reason := EtcdAddressesLost(probes); reason != "" {
			return refuseAll(probes, reason)
		}
		return wake(probes)
	}
	return bootstrap(probes)
}

// moved reports whether the host has another address than the one under which the other
// members know its member.
func (h EtcdProbe) moved() bool {
	return h.HasData && h.ListedPeerURL != "" && h.ListedPeerURL != h.PeerURL
}

// EtcdAddressesLost returns the reason why a cluster that is down stays down: so many hosts
// have a new address that the members that still find each other are no majority. Then
// no member list can be changed. Empty when that is not so. Only hosts with data count:
// others may never have been members. A single member needs no address to agree with itself.
func EtcdAddressesLost(probes []EtcdProbe) string {
	var moved []string
	found := 0
	for _, h := range probes {
		switch {
		case h.moved():
			moved = append(moved, h.Name)
		case h.HasData:
			found++
		}
	}
	if voters := len(moved) + found; len(moved) == 0 || voters == 1 || found >= quorum(voters) {
		return ""
	}
	return fmt.Sprintf("%s have other addresses than those under which the members of etcd know each other, so they have no majority: "+
		"deployer etcd readdress makes them a cluster again under the addresses of the inventory; or give the machines their former addresses, and change one after the other",
		strings.Join(moved, ", "))
}

// silentReason returns the reason why no change is allowed while no cluster answers.
func silentReason(probes []EtcdProbe) string {
	var clusterID uint64
	var first string
	withData, established := 0, ""
	for _, h := range probes {
		if !h.Reachable {
			return fmt.Sprintf("no etcd answers, and %s cannot be reached: it may hold the cluster's data, so nothing is started without it", h.Name)
		}
		if h.Established && established == "" {
			established = h.Name
		}
		if !h.HasData {
			continue
		}
		withData++
		if h.ClusterID == 0 {
			continue
		}
		if clusterID != 0 && clusterID != h.ClusterID {
			return fmt.Sprintf("%s and %s hold the data of two different clusters (%x and %x): move the data of the wrong cluster away", first, h.Name, clusterID, h.ClusterID)
		}
		clusterID, first = h.ClusterID, h.Name
	}
	if established != "" && withData == 0 {
		return fmt.Sprintf("%s shows that the cluster has worked before, but no host has its data: starting empty would lose what was stored; check cluster.etcd.data_dir, bring the data back or restore a backup", established)
	}
	return ""
}

// bootstrap starts every host with the same list of members. Where a first
// attempt was killed, a member that already has data ignores the list, and the
// others complete the cluster that it waits for.
func bootstrap(probes []EtcdProbe) EtcdPlan {
	plan := EtcdPlan{Bootstrap: true, Hosts: map[string]EtcdStep{}, Order: []string{}}
	for _, h := range probes {
		reason := "starts with all others as a new cluster"
		if h.HasData {
			reason = "has begun a new cluster and waits for the others"
		}
		plan.Hosts[h.Name] = EtcdStep{
			Action: EtcdBootstrap, InitialCluster: initialClusterOf(probes), InitialState: "new", Reason: reason,
		}
	}
	return plan
}

// wake starts the members that have their data, which can do no harm. One whose address
// changed waits: the others do not find it before the cluster knows the address. Those
// without data wait, too: only the cluster that then answers can say whether they were members, so
// the next run decides on them. When too many have lost their data for a
// majority, no cluster answers, and no later run changes that.
func wake(probes []EtcdProbe) EtcdPlan {
	plan := EtcdPlan{Bootstrap: true, Hosts: map[string]EtcdStep{}, Order: []string{}}
	alone := len(slices.DeleteFunc(slices.Clone(probes), func(h EtcdProbe) bool { return !h.HasData })) == 1
	for _, h := range probes {
		if h.moved() && !alone {
			plan.Hosts[h.Name] = refuse("has another address than %s, and the cluster is down: run again when the others serve", h.ListedPeerURL)
			continue
		}
		if h.HasData {
			plan.Hosts[h.Name] = keep(probes, "starts with its data")
			continue
		}
		plan.Hosts[h.Name] = refuse("has no data, and the cluster is down: run again when the others serve; if they cannot, a majority has lost its data: restore a backup")
	}
	return plan
}

// keep is the step of a member that has its data. etcd ignores both flags then;
// they are those of a new cluster so that they never change from run to run, and
// because with them etcd refuses to start a member that has lost its data, while
// with "existing" it would start it empty under its old identity
// (etcd server/etcdserver/bootstrap.go: isMemberBootstrapped).
func keep(probes []EtcdProbe, reason string) EtcdStep {
	return EtcdStep{Action: EtcdMember, InitialCluster: initialClusterOf(probes), InitialState: "new", Reason: reason}
}

func refuse(format string, args ...any) EtcdStep {
	return EtcdStep{Action: EtcdRefuse, Reason: fmt.Sprintf(format, args...)}
}

func refuseAll(probes []EtcdProbe, reason string) EtcdPlan {
	plan := EtcdPlan{Hosts: map[string]EtcdStep{}, Order: []string{}}
	for _, h := range probes {
		plan.Hosts[h.Name] = EtcdStep{Action: EtcdRefuse, Reason: reason}
	}
	return plan
}

func initialClusterOf(probes []EtcdProbe) string {
	var peers []Endpoint
	for _, h := range probes {
		peers = append(peers, Endpoint{Name: h.Name, URL: h.PeerURL})
	}
	return InitialCluster(peers)
}

func quorum(members int) int { return members/2 + 1 }
