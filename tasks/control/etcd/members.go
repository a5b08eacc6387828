package etcd

import (
	"context"
	"encoding/json"

	"deployer/cluster"
	"deployer/engine"
)

// Members is the action `etcd_members`: it reads the state of the member of each etcd
// host and changes nothing. A member that does not answer is a finding, not a failure.
//
// Output: members, one for each etcd host in inventory order with the fields of
// cluster.EtcdMemberState; snapshot_host, the host whose member a snapshot is best taken
// of, empty when no member answers; problem, the reason for that.
type Members struct{}

// ReadOnly is true.
func (*Members) ReadOnly() bool { return true }

// Check reads the states.
func (*Members) Check(ctx context.Context, site engine.ActionContext) (engine.Change, error) {
	open, hosts, err := remaining(site)
	if err != nil {
		return engine.Change{}, err
	}
	states := Take(ctx, open, hosts).States(hosts)
	members, err := plainList(states)
	if err != nil {
		return engine.Change{}, err
	}
	out := engine.Output{"members": members, "snapshot_host": "", "problem": ""}
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
		look := s.Hosts[h.Name]
		state := Judge(s, h)
		out[i] = cluster.EtcdMemberState{
			Host: h.Name, Answers: look.Answers, Serves: state.OK, Learner: look.Status.Learner, Version: look.Status.Version,
			Leader:   look.Answers && look.Status.Leader == look.Status.MemberID,
			Revision: look.Status.Revision, DBSize: look.Status.DBSize, DBInUse: look.Status.DBInUse,
		}
		if !state.OK {
			out[i].Problem = state.Text
		}
	}
	return out
}

// plainList returns states as lists and mappings for variables.
func plainList(states []cluster.EtcdMemberState) ([]any, error) {
	text, err := json.Marshal(states)
	if err != nil {
		return nil, err
	}
	var out []any
	return out, json.Unmarshal(text, &out)
}
