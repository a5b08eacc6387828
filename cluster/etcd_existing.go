package cluster

import (
	"fmt"
	"slices"
	"strings"
)

// planExisting returns the plan for the hosts of a running cluster.
func planExisting(probes []EtcdProbe, live *EtcdLive) EtcdPlan {
	plan := EtcdPlan{Hosts: map[string]EtcdStep{}, Order: []string{}}
	for _, h := range probes {
		step := stepExisting(probes, h, live)
		member, counted := live.member(h)
		step.Serves = counted && member.Healthy && !member.Learner
		plan.Hosts[h.Name] = step
	}
	repaired := repairedBy(plan, probes, live)
	for _, h := range probes {
		if step := plan.Hosts[h.Name]; step.Action == EtcdJoin {
			plan.Hosts[h.Name] = guarded(step, EtcdMayAdd(repaired))
		}
	}
	// First come the steps that only start or promote a member, because they strengthen the
	// quorum, then members with a new address, replacements of lost members, and additions.
	for _, action := range []string{EtcdMember, EtcdStart, EtcdReaddress, EtcdReplace, EtcdJoin} {
		for _, h := range probes {
			if step := plan.Hosts[h.Name]; step.Action == action && (action != EtcdMember || step.Promote) {
				plan.Order = append(plan.Order, h.Name)
			}
		}
	}
	return plan
}

// repairedBy returns the members after the repairs of a plan, which starts, moves and replaces
// members that are down before it adds any.
func repairedBy(plan EtcdPlan, probes []EtcdProbe, live *EtcdLive) *EtcdLive {
	out := &EtcdLive{ClusterID: live.ClusterID, Members: slices.Clone(live.Members)}
	for _, h := range probes {
		member, counted := live.member(h)
		step := plan.Hosts[h.Name]
		if !counted || h.Unchanged || step.Action == EtcdRefuse || step.Action == EtcdJoin {
			continue
		}
		i := slices.IndexFunc(out.Members, func(m LiveMember) bool { return m.ID == member.ID })
		out.Members[i].Healthy = true
	}
	return out
}

// stepExisting plans one host.
func stepExisting(probes []EtcdProbe, h EtcdProbe, live *EtcdLive) EtcdStep {
	member, counted := live.member(h)
	switch {
	case !h.Reachable && counted:
		return refuse("cannot be reached; it stays a member")
	case !h.Reachable:
		return refuse("cannot be reached")
	case h.HasData && h.ClusterID != 0 && live.ClusterID != 0 && h.ClusterID != live.ClusterID:
		return refuse("holds the data of another cluster (%x, this one is %x): deployer etcd replace %s puts it aside and adds the host", h.ClusterID, live.ClusterID, h.Name)
	case h.HasData && !counted:
		return refuse("holds data, but the cluster does not count it as a member: it was removed, or the data is foreign; deployer etcd replace %s puts the data aside and adds the host again", h.Name)
	case h.HasData && h.MemberID != 0 && h.MemberID != member.ID:
		return refuse("holds the data of member %x, but the cluster knows it as %x: deployer etcd replace %s puts the data aside and adds the host again", h.MemberID, member.ID, h.Name)
	case h.HasData && !slices.Contains(member.PeerURLs, h.PeerURL):
		step := keep(probes, fmt.Sprintf("has another address than %s, under which the cluster knows it", strings.Join(member.PeerURLs, ", ")))
		step.Action, step.Promote = EtcdReaddress, member.Learner
		return guarded(step, EtcdMayReaddress(live, member.ID, h.PeerURL))
	case h.HasData:
		step := keep(probes, "is a member")
		step.Promote = member.Learner
		return step
	case !counted:
		step := EtcdStep{Action: EtcdJoin, InitialState: "existing", Promote: true, Reason: "is not a member yet"}
		stray, found := live.stray(probes)
		if !found {
			step.InitialCluster = live.InitialCluster(h)
			return step // planExisting applies EtcdMayAdd
		}
		step.Action, step.RemoveID = EtcdReplace, stray.ID
		step.Reason = fmt.Sprintf("is not a member yet; %s was added, which no host has, and never started", strings.Join(stray.PeerURLs, ", "))
		step.InitialCluster = live.without(step.RemoveID).InitialCluster(h)
		return guarded(step, EtcdMayReplace(live, step.RemoveID))
	case !member.Started:
		return EtcdStep{
			Action: EtcdStart, InitialState: "existing", InitialCluster: live.InitialCluster(h),
			Promote: member.Learner, Reason: "is a member that has not started yet",
		}
	case member.Healthy:
		// The member answers from data that the probe did not find, such as another directory.
		return refuse("runs as a member, but its data is not where it should be: check cluster.etcd.data_dir")
	default:
		step := EtcdStep{Action: EtcdReplace, InitialState: "existing", RemoveID: member.ID, Promote: true, Reason: "was a member and has lost its data"}
		step.InitialCluster = live.without(member.ID).InitialCluster(h)
		return guarded(step, EtcdMayReplace(live, member.ID))
	}
}

func guarded(step EtcdStep, risk error) EtcdStep {
	if risk != nil {
		return refuse("%s, but %v", step.Reason, risk)
	}
	return step
}

// EtcdMayAdd returns nil when a running cluster may get one more member now, as a learner.
// Callers call it immediately before the addition, with the present members. The error names
// the members to repair or to wait for.
//
// Every member must be a voter that serves: the rule by which cluster-etcd-operator adds
// members. A majority is not enough, because each voter more may raise the number that a
// majority needs. A second learner is never added: etcd allows one (max-learners), and two
// new members would be two changes at a time.
func EtcdMayAdd(live *EtcdLive) error {
	var silent []string
	for _, m := range live.Members {
		switch {
		case m.Learner || !m.Started:
			return errJoining(m)
		case !m.Healthy:
			silent = append(silent, label(m))
		}
	}
	if len(silent) > 0 {
		return fmt.Errorf("%s not serve, and a member is added only while all members serve: %s", doNot("member", silent), repairHint(silent))
	}
	return nil
}

// EtcdMayReplace returns nil when a new member may take the place of a lost one now: the
// member removeID is removed and a learner added. Between the two, callers pass 0. Callers
// call it immediately before each change, with the present members. The error names the
// state to wait for.
//
// Other members may be down, because a replacement repairs the cluster. The healthy voters
// must be a majority without the new member, and must still be one when the new member votes
// too.
func EtcdMayReplace(live *EtcdLive, removeID uint64) error {
	voters, healthy := 0, 0
	for _, m := range live.Members {
		if m.ID == removeID && m.Healthy {
			return fmt.Errorf("member %s answers and must not be removed", m.Name)
		}
		if m.ID == removeID && m.Learner {
			continue
		}
		if m.ID != removeID && (m.Learner || !m.Started) {
			return errJoining(m)
		}
		voters++
		if m.Healthy {
			healthy++
		}
	}
	if healthy < quorum(voters) {
		return fmt.Errorf("only %d of %d members are healthy: a change needs %d", healthy, voters, quorum(voters))
	}
	after := voters + 1
	if removeID != 0 && live.counts(removeID) {
		after = voters // one member is removed and one added
	}
	if healthy+1 < quorum(after) {
		return fmt.Errorf("only %d of %d members are healthy: with one more voter a majority would be lost", healthy, voters)
	}
	return nil
}

// errJoining returns the error for a change of the membership while a member joins.
func errJoining(m LiveMember) error {
	return fmt.Errorf("member %s is still joining the cluster: only one change at a time is allowed", label(m))
}

// repairHint returns the ways to repair members that do not serve.
func repairHint(silent []string) string {
	return fmt.Sprintf("start it with deployer install, replace it with deployer etcd replace %s, or remove it with deployer scale-down --dead %s",
		silent[0], strings.Join(silent, " "))
}

// EtcdMayPromote reports whether a learner may become a voter: it answers, and the
// voters keep a majority with it.
func EtcdMayPromote(live *EtcdLive, id uint64) error {
	voters, healthy := 0, 0
	for _, m := range live.Members {
		if m.Learner && m.ID != id {
			continue
		}
		if m.ID == id && (!m.Started || !m.Healthy) {
			return fmt.Errorf("member %s does not serve yet", label(m))
		}
		voters++
		if m.Healthy {
			healthy++
		}
	}
	if healthy < quorum(voters) {
		return fmt.Errorf("only %d of %d members would be healthy: a majority would be lost", healthy, voters)
	}
	return nil
}

// member returns the live member of a host: by its name, otherwise by its peer URL. The
// address of a host may be one that another member has had.
func (l *EtcdLive) member(h EtcdProbe) (LiveMember, bool) {
	for _, same := range []func(LiveMember) bool{
		func(m LiveMember) bool { return m.Name == h.Name },
		func(m LiveMember) bool { return slices.Contains(m.PeerURLs, h.PeerURL) },
	} {
		if i := slices.IndexFunc(l.Members, same); i >= 0 {
			return l.Members[i], true
		}
	}
	return LiveMember{}, false
}

// stray returns the learner that was added under an address that no host has, as after an
// address was corrected, and that has never started.
func (l *EtcdLive) stray(probes []EtcdProbe) (LiveMember, bool) {
	for _, m := range l.Members {
		known := slices.ContainsFunc(probes, func(h EtcdProbe) bool { return slices.Contains(m.PeerURLs, h.PeerURL) })
		if m.Learner && !m.Started && !m.Healthy && !known {
			return m, true
		}
	}
	return LiveMember{}, false
}

// counts reports whether a member votes.
func (l *EtcdLive) counts(id uint64) bool {
	return slices.ContainsFunc(l.Members, func(m LiveMember) bool { return m.ID == id && !m.Learner })
}

func (l *EtcdLive) without(id uint64) *EtcdLive {
	rest := slices.DeleteFunc(slices.Clone(l.Members), func(m LiveMember) bool { return m.ID == id })
	return &EtcdLive{ClusterID: l.ClusterID, Members: rest}
}

// InitialCluster returns the value of etcd's flag for a host that joins the live members:
// all members and the host itself under its own name, as a member that has never started
// has none.
func (l *EtcdLive) InitialCluster(h EtcdProbe) string {
	own, counted := l.member(h)
	peers := []Endpoint{}
	for _, m := range l.Members {
		name := m.Name
		if counted && m.ID == own.ID {
			name = h.Name
		}
		for _, u := range m.PeerURLs {
			peers = append(peers, Endpoint{Name: name, URL: u})
		}
	}
	if !counted {
		peers = append(peers, Endpoint{Name: h.Name, URL: h.PeerURL})
	}
	slices.SortFunc(peers, func(a, b Endpoint) int { return strings.Compare(a.Name+a.URL, b.Name+b.URL) })
	return InitialCluster(peers)
}

func label(m LiveMember) string {
	if m.Name != "" {
		return m.Name
	}
	return fmt.Sprintf("%x", m.ID)
}
