package etcd

import (
	"context"

	"deployer/cluster"
	"deployer/engine"
	"deployer/jsontypes"
)

// Members is the action `etcd_members`: it reads the state of the member of each etcd
// host and changes nothing. A member that does not answer is a finding, not a failure.
//
// Output: cluster, the name of the etcd cluster; members, one for each etcd host in inventory order with the fields of
// cluster.EtcdMemberState; others, the listed members that no host has; snapshot_host, the host whose member a snapshot is best taken
// of, empty when no member answers; problem, the reason for that.
type Members struct {
	Target `yaml:",inline"`
}

// ReadOnly is true.
func (*Members) ReadOnly() bool { return true }

// Check reads the states.
func (m *Members) Check(ctx context.Context, actx engine.ActionContext) (engine.Change, error) {
	open, hosts, err := m.remaining(ctx, actx)
	if err != nil {
		return engine.Change{}, err
	}
	survey := Take(ctx, open, hosts)
	states := survey.States(hosts)
	members, err := jsontypes.FromGo(states)
	if err != nil {
		return engine.Change{}, err
	}
	others, err := jsontypes.FromGo(survey.OtherStates(hosts))
	if err != nil {
		return engine.Change{}, err
	}
	out := engine.Output{"members": members, "others": others, "cluster": nameOrOwn(m.Cluster), "snapshot_host": "", "problem": ""}
	if host, err := cluster.EtcdSnapshotHost(states); err != nil {
		out["problem"] = err.Error()
	} else {
		out["snapshot_host"] = host
	}
	return engine.NoChange(out), nil
}

// Apply is never called.
func (*Members) Apply(context.Context, engine.ActionContext, engine.Change) (engine.Output, error) {
	return nil, nil
}

// States returns the state of the member of each host.
func (s *Survey) States(hosts []Host) []cluster.EtcdMemberState {
	out := make([]cluster.EtcdMemberState, len(hosts))
	for i, h := range hosts {
		state := Judge(s, h)
		out[i] = memberState(s.Hosts[h.Name], state.OK)
		out[i].Host = h.Name
		if entry, ok := s.Entry(h); ok {
			list(&out[i], entry)
		}
		if !state.OK {
			out[i].Problem = state.Text
		}
	}
	return out
}

// OtherStates returns the state of the listed members that no host has.
func (s *Survey) OtherStates(hosts []Host) []cluster.EtcdMemberState {
	known := map[uint64]bool{}
	for _, h := range hosts {
		if entry, ok := s.Entry(h); ok {
			known[entry.ID] = true
		}
	}
	out := []cluster.EtcdMemberState{}
	for _, entry := range s.Entries {
		if known[entry.ID] {
			continue
		}
		look, found := s.byID(entry.ID)
		state := memberState(look, found && look.Err == nil)
		list(&state, entry)
		state.Problem = "the inventory has no etcd host for it"
		out = append(out, state)
	}
	return out
}

func memberState(look Look, serves bool) cluster.EtcdMemberState {
	return cluster.EtcdMemberState{
		Answers: look.Answers, Serves: serves, Learner: look.Status.Learner, Version: look.Status.Version,
		Leader:   look.Answers && look.Status.Leader == look.Status.MemberID,
		Revision: look.Status.Revision, DBSize: look.Status.DBSize, DBInUse: look.Status.DBInUse, Quota: look.Status.Quota,
	}
}

// list sets the fields of a member from the member list.
func list(state *cluster.EtcdMemberState, entry Entry) {
	state.Listed, state.Member, state.ID, state.PeerURLs = true, entry.Name, formatID(entry.ID), entry.PeerURLs
	state.Learner = entry.Learner
}
