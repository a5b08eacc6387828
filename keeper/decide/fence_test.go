package decide

import (
	"testing"
	"time"

	"deployer/cluster"
	"deployer/keeper/world"
)

// fences are settings with one hook.
func fences() cluster.KeeperFenceSpec {
	return cluster.KeeperFenceSpec{Hooks: []cluster.KeeperHookSpec{{Name: "power"}}, UnknownFor: 5 * time.Minute, MaxPerHour: 1}
}

func TestFence(t *testing.T) {
	fenced := func(ago time.Duration) *world.OutOfService {
		return &world.OutOfService{ByKeeper: true, Since: now.Add(-ago)}
	}
	for name, c := range map[string]struct {
		change func(*world.World, *cluster.KeeperFenceSpec)
		fenced string
		why    string
	}{
		"a minion":       {nil, "n1", ""},
		"without hooks":  {func(_ *world.World, s *cluster.KeeperFenceSpec) { s.Hooks = nil }, "", ""},
		"not long":       {func(w *world.World, _ *cluster.KeeperFenceSpec) { dies(w, "n1", 4*time.Minute) }, "", ""},
		"the host lives": {func(w *world.World, _ *cluster.KeeperFenceSpec) { dies(w, "n1", time.Hour).Reach = world.Answers }, "", "its host answers, so its pods may run: look at the kubelet there"},
		"somebody works on it": {func(w *world.World, _ *cluster.KeeperFenceSpec) {
			dies(w, "n1", time.Hour).Maintenance = &world.Maintenance{Until: now.Add(time.Minute), By: "ann@desk"}
		}, "", "it is in maintenance until 2026-11-28T03:01:00Z (ann@desk)"},
		"it is off": {func(w *world.World, _ *cluster.KeeperFenceSpec) { dies(w, "n1", time.Hour).OutOfService = fenced(0) }, "", ""},
		"a person has fenced it": {func(w *world.World, _ *cluster.KeeperFenceSpec) {
			dies(w, "n1", time.Hour).OutOfService = &world.OutOfService{}
		}, "", ""},
		"of two the one that is gone longer": {func(w *world.World, _ *cluster.KeeperFenceSpec) { dies(w, "n3", 3*time.Hour) }, "n3",
			"one machine is switched off at a time, and that of n3 is now"},
		"another one in this hour": {func(w *world.World, _ *cluster.KeeperFenceSpec) { w.Nodes[4].OutOfService = fenced(59 * time.Minute) }, "",
			"1 machine switched off in the last hour, and cluster.keeper.fence.max_per_hour is 1"},
		"another one before": {func(w *world.World, _ *cluster.KeeperFenceSpec) { w.Nodes[4].OutOfService = fenced(time.Hour) }, "n1", ""},
		"cut off": {func(w *world.World, _ *cluster.KeeperFenceSpec) {
			for i := range w.Nodes[:5] {
				w.Nodes[i].Reach = world.Silent
			}
		}, "", "this host reaches 1 of 6 nodes, which is no majority, so it may be the one that is cut off"},
		"a master while another member is down": {func(w *world.World, _ *cluster.KeeperFenceSpec) {
			dies(w, "n1", 0)
			dies(w, "m1", time.Hour)
			down(&w.Etcd, 1)
		}, "", "etcd on m2 does not serve either, and one member leaves at a time"},
	} {
		w, s := fleet(), fences()
		dies(&w, "n1", 2*time.Hour)
		if c.change != nil {
			c.change(&w, &s)
		}
		d := FenceOf(s, w)
		got, why := "", ""
		if len(d.Actions) > 0 {
			got = d.Actions[0].Object.Name
		}
		if len(d.Blocked) > 0 {
			why = d.Blocked[0].Why
		}
		if got != c.fenced || why != c.why || len(d.Actions) > 1 {
			t.Errorf("%s: fenced %q, blocked %q; want %q, %q", name, got, why, c.fenced, c.why)
		}
	}
}

// TestUnfence: only the keeper's taint of a node that is Ready since then is removed.
func TestUnfence(t *testing.T) {
	for name, c := range map[string]struct {
		ready    world.Readiness
		since    time.Duration // how long ago it became so
		byKeeper bool
		want     int
	}{
		"it is back":           {world.True, time.Minute, true, 1},
		"a person's taint":     {world.True, time.Minute, false, 0},
		"it is away":           {world.Unknown, time.Hour, true, 0},
		"it starts":            {world.False, time.Minute, true, 0},
		"it was Ready all day": {world.True, 24 * time.Hour, true, 0},
	} {
		w := fleet()
		n := &w.Nodes[3]
		n.Ready, n.Since, n.OutOfService = c.ready, now.Add(-c.since), &world.OutOfService{ByKeeper: c.byKeeper, Since: now.Add(-10 * time.Minute)}
		if got := len(UnfenceOf(w).Actions); got != c.want {
			t.Errorf("%s: %d actions, want %d", name, got, c.want)
		}
	}
}

// TestFailingHook: an action of minutes that was just done leaves its place to the next.
func TestFailingHook(t *testing.T) {
	w, s := fleet(), settings()
	dies(&w, "n1", 2*time.Hour)
	s.Fence, s.Purge.UnreachableFor = fences(), time.Hour
	h := History{}
	first := All(s, w, h).Actions
	if len(first) != 1 || first[0].Kind != Fence {
		t.Fatalf("first %v", first)
	}
	h[first[0].Key()] = now
	if second := All(s, w, h).Actions; len(second) != 1 || second[0].Kind != Purge {
		t.Errorf("then %v, want the purge of n1", second)
	}
}
