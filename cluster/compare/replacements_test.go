package compare_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"deployer/cluster"
	"deployer/cluster/compare"
)

// TestReplacementsKeepMajority replaces the broken machines of random clusters in the
// returned order: a machine is removed, then its successor joins. etcd must have its
// majority throughout, over the members that exist at that time.
func TestReplacementsKeepMajority(t *testing.T) {
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 7))
		live, hosts := cluster.EtcdLive{}, []string{"n1"}
		for i := range 1 + r.IntN(7) {
			m := cluster.LiveMember{ID: uint64(i + 1), Name: fmt.Sprintf("m%d", i+1), Started: true, Healthy: r.IntN(3) > 0}
			live.Members = append(live.Members, m)
			if !m.Healthy || r.IntN(4) == 0 {
				hosts = append(hosts, m.Name)
			}
		}
		got := compare.Replacements(live, hosts)
		if len(got) != len(hosts) {
			t.Fatalf("seed %d: %d of %d hosts: %v", seed, len(got), len(hosts), got)
		}
		serving := map[string]bool{}
		for _, m := range live.Members {
			serving[m.Name] = m.Healthy
		}
		had := majority(serving)
		for _, step := range got {
			if _, member := serving[step.Host]; !member || step.Blocked != "" {
				continue
			}
			serving[step.Host] = false
			if !majority(serving) {
				t.Fatalf("seed %d: no majority while %s is replaced: %v of %+v", seed, step.Host, got, live.Members)
			}
			delete(serving, step.Host) // the old member is removed
			if !majority(serving) {
				t.Fatalf("seed %d: no majority when %s is removed: %v of %+v", seed, step.Host, got, live.Members)
			}
			serving[step.Host] = true // its successor was a learner until it served
		}
		for _, step := range got {
			if _, member := serving[step.Host]; member && !serving[step.Host] && had && step.Blocked != "" {
				t.Fatalf("seed %d: %s is dead, the others have a majority, and it is blocked: %s", seed, step.Host, step.Blocked)
			}
		}
	}
}

func majority(serving map[string]bool) bool {
	up := 0
	for _, ok := range serving {
		if ok {
			up++
		}
	}
	return up >= len(serving)/2+1
}

func TestReplacementsOrder(t *testing.T) {
	live := cluster.EtcdLive{Members: []cluster.LiveMember{
		{ID: 1, Name: "m1", Healthy: true}, {ID: 2, Name: "m2", Healthy: true}, {ID: 3, Name: "m3"},
	}}
	got := fmt.Sprint(compare.Replacements(live, []string{"n1", "m1", "m3"}))
	if want := "[{m3 } {m1 } {n1 }]"; got != want {
		t.Errorf("order %s, not %s", got, want)
	}
	live.Members = live.Members[:1]
	if got := compare.Replacements(live, []string{"m1"}); got[0].Blocked == "" {
		t.Error("the only member may be replaced")
	}
}
