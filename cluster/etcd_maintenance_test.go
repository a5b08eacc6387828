package cluster_test

import (
	"slices"
	"strings"
	"testing"

	"deployer/cluster"
)

func serving(host string) cluster.EtcdMemberState {
	return cluster.EtcdMemberState{Host: host, Answers: true, Serves: true, DBSize: 200 << 20, DBInUse: 50 << 20}
}

func TestEtcdSnapshotHost(t *testing.T) {
	t.Parallel()
	leader := serving("m1")
	leader.Leader = true
	survivor := func(host string, revision int64) cluster.EtcdMemberState {
		return cluster.EtcdMemberState{Host: host, Answers: true, Revision: revision}
	}
	learner := serving("m4")
	learner.Learner = true
	for name, tt := range map[string]struct {
		members []cluster.EtcdMemberState
		want    string
	}{
		"a follower before the leader":                            {[]cluster.EtcdMemberState{leader, serving("m2"), serving("m3")}, "m2"},
		"a single member":                                         {[]cluster.EtcdMemberState{leader}, "m1"},
		"learners are not chosen":                                 {[]cluster.EtcdMemberState{learner, leader}, "m1"},
		"a serving member before a newer one that does not serve": {[]cluster.EtcdMemberState{survivor("m2", 900), leader}, "m1"},
		"the member with the newest data, none serves":            {[]cluster.EtcdMemberState{{Host: "m1"}, survivor("m2", 40), survivor("m3", 41)}, "m3"},
		"no member responds":                                      {[]cluster.EtcdMemberState{{Host: "m1"}, {Host: "m2"}}, ""},
	} {
		got, err := cluster.EtcdSnapshotHost(tt.members)
		if got != tt.want || (err != nil) != (tt.want == "") {
			t.Errorf("%s: %q, error %v; want %q", name, got, err, tt.want)
		}
	}
}

func TestEtcdDefragOrder(t *testing.T) {
	t.Parallel()
	leader, small, full, down := serving("m1"), serving("m2"), serving("m3"), serving("m4")
	leader.Leader = true
	small.DBSize, small.DBInUse = 99<<20, 1<<20
	full.DBInUse = 120 << 20
	down.Serves, down.Problem = false, "connection refused"
	other := serving("m5")
	for name, tt := range map[string]struct {
		members []cluster.EtcdMemberState
		all     bool
		want    []string
		wrong   string
	}{
		"the leader last": {[]cluster.EtcdMemberState{leader, other}, false, []string{"m5", "m1"}, ""},
		"files that are small or have no unused space": {[]cluster.EtcdMemberState{leader, small, full}, false, []string{"m1"}, ""},
		"all files, with --all":                        {[]cluster.EtcdMemberState{leader, small, full}, true, []string{"m2", "m3", "m1"}, ""},
		"a member is down":                             {[]cluster.EtcdMemberState{leader, down}, true, nil, "member m4 does not serve: connection refused"},
	} {
		got, err := cluster.EtcdDefragOrder(tt.members, tt.all)
		if tt.wrong == "" && (err != nil || !slices.Equal(got, tt.want)) || tt.wrong != "" && (err == nil || !strings.Contains(err.Error(), tt.wrong)) {
			t.Errorf("%s: %v, error %v; want %v, %q", name, got, err, tt.want, tt.wrong)
		}
	}
}
