package cluster_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"deployer/cluster"
)

func TestEtcdMayRestart(t *testing.T) {
	t.Parallel()
	a, b, c, d, e := voter(1, "a"), voter(2, "b"), voter(3, "c"), voter(4, "d"), voter(5, "e")
	for name, tt := range map[string]struct {
		live *cluster.EtcdLive
		id   uint64
		want string // part of the error
	}{
		"all serve":                        {live(a, b, c), 1, ""},
		"another is down":                  {live(a, dead(b), c), 1, "member b does not serve: without a only 1 of 3 members would, and a majority is 2; repair b first"},
		"the one that is down":             {live(a, dead(b), c), 2, ""},
		"another never started":            {live(a, unstarted(dead(b)), c), 1, "member b does not serve"},
		"one of five is down":              {live(a, b, c, d, dead(e)), 1, ""},
		"two of five are down":             {live(a, b, c, dead(d), dead(e)), 1, "members d, e do not serve: without a only 2 of 5 members would, and a majority is 3; repair d, e first"},
		"two of five are down, one starts": {live(a, b, c, dead(d), dead(e)), 4, ""},
		"four without one":                 {live(a, b, c, dead(d)), 1, "a majority is 3"},
		"no member serves":                 {nil, 1, ""},
		"the only member":                  {live(a), 1, ""},
		"one of two":                       {live(a, b), 1, ""},
		"a learner":                        {live(a, dead(b), c, learner(d)), 4, ""},
		"a learner is no majority":         {live(a, dead(b), c, learner(d)), 1, "only 1 of 3 members"},
		"beside a learner":                 {live(a, b, c, dead(learner(d))), 1, ""},
		"a member that is not listed":      {live(a, dead(b), c), 9, ""},
	} {
		err := cluster.EtcdMayRestart(tt.live, tt.id)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}

// TestRestartsKeepTheQuorum restarts random members of random clusters as the rule allows,
// each with a value that its process may refuse, while members go down and come back: a
// cluster of three or more that had a majority keeps it at every moment, and once all
// members serve, each may restart.
func TestRestartsKeepTheQuorum(t *testing.T) {
	t.Parallel()
	refused := 0
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 3))
		l := &cluster.EtcdLive{ClusterID: 7}
		for i := range 1 + r.IntN(7) {
			l.Members = append(l.Members, cluster.LiveMember{ID: uint64(i + 1), Name: fmt.Sprint("e", i+1), Started: true, Healthy: true, Learner: i > 2 && r.IntN(5) == 0})
		}
		voters := slices.DeleteFunc(slices.Clone(l.Members), func(m cluster.LiveMember) bool { return m.Learner })
		majority := func() bool {
			return hasMajority(slices.DeleteFunc(slices.Clone(l.Members), func(m cluster.LiveMember) bool { return m.Learner }))
		}
		for range 30 {
			m := &l.Members[r.IntN(len(l.Members))]
			switch {
			case r.IntN(3) == 0: // another event stops the member, if a majority remains
				was := m.Healthy
				if m.Healthy = false; !majority() {
					m.Healthy = was
				}
			case cluster.EtcdMayRestart(l, m.ID) == nil:
				m.Healthy = false
				if len(voters) > 2 && !majority() {
					t.Fatalf("seed %d: the restart of %s loses the majority: %+v", seed, m.Name, l.Members)
				}
				m.Healthy = len(voters) <= 2 || r.IntN(2) == 0 // or the process refuses its new value
			default:
				refused++
				if !m.Healthy {
					t.Fatalf("seed %d: %s is down and must not start: %+v", seed, m.Name, l.Members)
				}
			}
		}
		for i := range l.Members {
			l.Members[i].Healthy = true
		}
		for _, m := range l.Members {
			if err := cluster.EtcdMayRestart(l, m.ID); err != nil {
				t.Fatalf("seed %d: all serve: %v", seed, err)
			}
		}
	}
	if refused == 0 {
		t.Error("no restart was refused")
	}
}
