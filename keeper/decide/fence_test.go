package decide

import (
	"testing"
	"time"

	"deployer/cluster"
	"deployer/keeper/world"
)

// fences are settings with one hook.
func fences() cluster.KeeperFenceSpec {
	return cluster.KeeperFenceSpec{Hooks: []cluster.KeeperHookSpec{{Name: "power"}}, UnknownFor: 5 * time.Minute, MaxPerHour: new(1)}
}

func TestFence(t *testing.T) {
	tried := func(w *world.World, name string, ago time.Duration) {
		w.Fences = append(w.Fences, world.Fencing{Node: name, UID: "uid-" + name, At: now.Add(-ago)})
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
		"it is off": {func(w *world.World, _ *cluster.KeeperFenceSpec) {
			dies(w, "n1", time.Hour).OutOfService = &world.OutOfService{ByKeeper: true}
		}, "", ""},
		"a person has fenced it": {func(w *world.World, _ *cluster.KeeperFenceSpec) {
			dies(w, "n1", time.Hour).OutOfService = &world.OutOfService{}
		}, "", ""},
		"of two the one that is gone longer": {func(w *world.World, _ *cluster.KeeperFenceSpec) { dies(w, "n3", 3*time.Hour) }, "n3",
			"one machine is switched off at a time, and that of n3 is now"},
		"another one in this hour": {func(w *world.World, _ *cluster.KeeperFenceSpec) { tried(w, "n2", 59*time.Minute) }, "",
			"1 other machine tried in the last hour, and cluster.keeper.fence.max_per_hour is 1"},
		"another one before":    {func(w *world.World, _ *cluster.KeeperFenceSpec) { tried(w, "n2", time.Hour) }, "n1", ""},
		"again after a failure": {func(w *world.World, _ *cluster.KeeperFenceSpec) { tried(w, "n1", 5*time.Minute) }, "n1", ""},
		"in a death before this": {func(w *world.World, _ *cluster.KeeperFenceSpec) {
			dies(w, "n1", 6*time.Minute)
			tried(w, "n1", 7*time.Minute)
		}, "n1", ""},
		"its hooks have just failed": {func(w *world.World, _ *cluster.KeeperFenceSpec) { tried(w, "n1", time.Minute) }, "",
			"its hooks did not succeed at 02:59:00 UTC (deployer runs keeper has the reason), and run again in 4m0s"},
		"they have, and another one is dead": {func(w *world.World, s *cluster.KeeperFenceSpec) {
			s.MaxPerHour = new(2)
			tried(w, "n1", time.Minute)
			dies(w, "n3", time.Hour)
		}, "n3", "its hooks did not succeed at 02:59:00 UTC (deployer runs keeper has the reason), and run again in 4m0s"},
		"it reboots":     {func(w *world.World, _ *cluster.KeeperFenceSpec) { dies(w, "n1", 29*time.Minute).Reboots = true }, "", "its host has cordoned it for a reboot, for which it has 1m0s more"},
		"it never boots": {func(w *world.World, _ *cluster.KeeperFenceSpec) { dies(w, "n1", 30*time.Minute).Reboots = true }, "n1", ""},
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

// TestUnfence: only the keeper's taint of a node that is Ready is removed.
func TestUnfence(t *testing.T) {
	for name, c := range map[string]struct {
		ready    world.Readiness
		since    time.Duration // how long ago it became so
		byKeeper bool
		want     int
	}{
		"it is back":            {world.True, time.Minute, true, 1},
		"a person's taint":      {world.True, time.Minute, false, 0},
		"it is away":            {world.Unknown, time.Hour, true, 0},
		"it starts":             {world.False, time.Minute, true, 0},
		"a clock that is wrong": {world.True, 24 * time.Hour, true, 1},
	} {
		w := fleet()
		n := &w.Nodes[3]
		n.Ready, n.Since, n.OutOfService = c.ready, now.Add(-c.since), &world.OutOfService{ByKeeper: c.byKeeper}
		if got := len(UnfenceOf(w).Actions); got != c.want {
			t.Errorf("%s: %d actions, want %d", name, got, c.want)
		}
	}
}

// TestMachineMayRun: with hooks that switch machines off, pods and Node of one that is not off stay.
func TestMachineMayRun(t *testing.T) {
	const why = "its machine may run: it is not switched off yet (cluster.keeper.fence)"
	for name, c := range map[string]struct {
		off  *world.OutOfService
		acts bool
	}{"it may run": {nil, false}, "it is off": {&world.OutOfService{ByKeeper: true}, true}, "a person says so": {&world.OutOfService{}, true}} {
		w, s := fleet(), settings()
		dies(&w, "n1", 2*time.Hour).OutOfService = c.off
		w.Ending = []world.Pod{ending("n1", time.Minute)}
		s.Fence = fences()
		for what, d := range map[string]Decision{"clear": Clear(s, w), "purge": PurgeOf(s, w)} {
			blocked := len(d.Blocked) == 1 && d.Blocked[0].Why == why
			if len(d.Actions) == 1 != c.acts || blocked == c.acts {
				t.Errorf("%s, %s: %+v", name, what, d)
			}
		}
	}
}

// TestJustDone: an action of minutes that was just done leaves its place to one of another kind.
func TestJustDone(t *testing.T) {
	w, s := fleet(), settings()
	dies(&w, "n1", 2*time.Hour)
	w.Etcd.Members[0].DBSize, w.Etcd.Members[0].DBInUse = 200<<20, 20<<20
	h := History{}
	first := All(s, w, h).Actions
	if len(first) != 1 || first[0].Kind != Defragment {
		t.Fatalf("first %v", first)
	}
	h[first[0].Key()] = now
	if second := All(s, w, h).Actions; len(second) != 1 || second[0].Kind != Purge {
		t.Errorf("then %v, want the purge of n1", second)
	}
}
