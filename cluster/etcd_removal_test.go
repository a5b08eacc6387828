package cluster_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"deployer/cluster"
)

func TestEtcdMayRemove(t *testing.T) {
	for name, c := range map[string]struct {
		live *cluster.EtcdLive
		id   uint64
		want string // part of the error; empty when it is allowed
	}{
		"one of three members":                       {live(voter(1, "a"), voter(2, "b"), voter(3, "c")), 1, ""},
		"one of two members":                         {live(voter(1, "a"), voter(2, "b")), 1, ""},
		"the only member":                            {live(voter(1, "a")), 1, "no voting member would be left"},
		"a dead member of three":                     {live(voter(1, "a"), voter(2, "b"), dead(voter(3, "c"))), 3, ""},
		"a healthy member of three, another is dead": {live(voter(1, "a"), voter(2, "b"), dead(voter(3, "c"))), 1, "only 1 of the 2 members that stay are healthy"},
		"a healthy member of five, another is dead":  {live(voter(1, "a"), voter(2, "b"), voter(3, "c"), voter(4, "d"), dead(voter(5, "e"))), 1, "member e does not serve, and a member that serves is removed only while all others serve: start it with deployer install, replace it with deployer etcd replace e, or remove it with deployer scale-down --dead e"},
		"a dead member of five, another is dead":     {live(voter(1, "a"), voter(2, "b"), voter(3, "c"), dead(voter(4, "d")), dead(voter(5, "e"))), 4, ""},
		"without a majority":                         {live(voter(1, "a"), dead(voter(2, "b")), dead(voter(3, "c"))), 3, "a removal needs 2"},
		"a member while another joins":               {live(voter(1, "a"), voter(2, "b"), voter(3, "c"), learner(voter(4, "d"))), 1, "member d is still joining"},
		"the learner that joins":                     {live(voter(1, "a"), unstarted(learner(voter(4, "")))), 4, ""},
		"a member that never starts":                 {live(voter(1, "a"), voter(2, "b"), unstarted(voter(3, "c"))), 3, ""},
	} {
		err := cluster.EtcdMayRemove(c.live, c.id)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// TestEtcdRemovalKeepsTheQuorum removes random members of random clusters. Each removal
// of a plan has a majority before and after it, and takes a member that serves only while
// all others serve; a plan is refused only when no order of the removals is like that.
func TestEtcdRemovalKeepsTheQuorum(t *testing.T) {
	refused := 0
	for seed := range uint64(20000) {
		r := rand.New(rand.NewPCG(seed, 2))
		l := live()
		var ids []uint64
		for i := range uint64(1 + r.IntN(7)) {
			m := voter(i+1, fmt.Sprintf("e%d", i+1))
			m.Healthy = r.IntN(4) > 0
			l.Members = append(l.Members, m)
			if r.IntN(3) == 0 && len(ids) < 4 {
				ids = append(ids, m.ID)
			}
		}
		order, err := cluster.PlanEtcdRemoval(l, ids)
		if err != nil {
			refused++
			if safe := safeOrder(l.Members, ids); safe != nil {
				t.Fatalf("seed %d: %v, but %v is safe", seed, err, safe)
			}
			continue
		}
		if len(order) != len(ids) {
			t.Fatalf("seed %d: the plan %v does not remove all of %v", seed, order, ids)
		}
		members := l.Members
		for _, id := range order {
			if members = removeSafely(members, id); members == nil {
				t.Fatalf("seed %d: removing %v in this order loses the quorum at %d: %+v", seed, order, id, l.Members)
			}
		}
	}
	if refused == 0 {
		t.Error("no plan was refused")
	}
}

// removeSafely returns the members without one; nil when a majority is missing before or
// after, or a member that serves leaves while another is down.
func removeSafely(members []cluster.LiveMember, id uint64) []cluster.LiveMember {
	after := slices.DeleteFunc(slices.Clone(members), func(m cluster.LiveMember) bool { return m.ID == id })
	if !hasMajority(members) || !hasMajority(after) {
		return nil
	}
	down := func(m cluster.LiveMember) bool { return !m.Healthy }
	if slices.ContainsFunc(after, down) && len(slices.DeleteFunc(slices.Clone(after), down)) < len(slices.DeleteFunc(slices.Clone(members), down)) {
		return nil // a member that serves leaves while another is down
	}
	return after
}

func hasMajority(members []cluster.LiveMember) bool {
	healthy := 0
	for _, m := range members {
		if m.Healthy {
			healthy++
		}
	}
	return 2*healthy > len(members)
}

// safeOrder returns an order in which the members can be removed; nil when there is none.
func safeOrder(members []cluster.LiveMember, ids []uint64) []uint64 {
	if len(ids) == 0 {
		return []uint64{}
	}
	for i, id := range ids {
		after := removeSafely(members, id)
		if after == nil {
			continue
		}
		rest := slices.Delete(slices.Clone(ids), i, i+1)
		if order := safeOrder(after, rest); order != nil {
			return append([]uint64{id}, order...)
		}
	}
	return nil
}
