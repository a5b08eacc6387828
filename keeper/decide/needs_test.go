package decide

import (
	"testing"
	"time"

	"deployer/cluster"
	"deployer/keeper/world"
)

// TestNeeds: hosts are tried only when a rule will ask, and all others only when one would act.
func TestNeeds(t *testing.T) {
	for name, c := range map[string]struct {
		change   func(*world.World, *cluster.KeeperSpec)
		reach    bool // of n1
		majority bool
	}{
		"all is well":        {func(*world.World, *cluster.KeeperSpec) {}, false, false},
		"Unknown for less":   {func(w *world.World, _ *cluster.KeeperSpec) { dies(w, "n1", 4*time.Minute) }, false, false},
		"gone, without pods": {func(w *world.World, _ *cluster.KeeperSpec) { dies(w, "n1", 6*time.Minute) }, true, false},
		"with a deleted pod": {func(w *world.World, _ *cluster.KeeperSpec) {
			dies(w, "n1", 6*time.Minute)
			w.Ending = []world.Pod{ending("n1", time.Minute)}
		}, true, true},
		"deleted just now": {func(w *world.World, _ *cluster.KeeperSpec) {
			dies(w, "n1", 6*time.Minute)
			w.Ending = []world.Pod{ending("n1", time.Second)}
		}, true, false},
		"its host answers": {func(w *world.World, _ *cluster.KeeperSpec) { dies(w, "n1", 2*time.Hour).Reach = world.Answers }, true, false},
		"to be purged":     {func(w *world.World, _ *cluster.KeeperSpec) { dies(w, "n1", 2*time.Hour) }, true, true},
		"below a minimum":  {func(w *world.World, s *cluster.KeeperSpec) { dies(w, "n1", 2*time.Hour); s.Purge.MinReadyMinions = 3 }, true, false},
		"purges are off":   {func(w *world.World, s *cluster.KeeperSpec) { dies(w, "n1", 2*time.Hour); s.Purge.Enabled = false }, true, false},
		"all is off": {func(w *world.World, s *cluster.KeeperSpec) {
			dies(w, "n1", 2*time.Hour)
			s.Purge.Enabled, s.Clear.Enabled = false, new(bool)
		}, false, false},
		"only fences are on": {func(w *world.World, s *cluster.KeeperSpec) {
			dies(w, "n1", 6*time.Minute)
			s.Purge.Enabled, s.Clear.Enabled, s.Fence = false, new(bool), fences()
		}, true, true},
		"fenced": {func(w *world.World, s *cluster.KeeperSpec) {
			dies(w, "n1", 6*time.Minute).OutOfService = &world.OutOfService{ByKeeper: true}
			s.Purge.Enabled, s.Clear.Enabled, s.Fence = false, new(bool), fences()
		}, false, false},
		"in maintenance": {func(w *world.World, _ *cluster.KeeperSpec) {
			w.Nodes[3].Maintenance = &world.Maintenance{Until: now.Add(time.Minute)}
		}, true, false},
		"without its address": {func(w *world.World, _ *cluster.KeeperSpec) { dies(w, "n1", 2*time.Hour).Reach = world.NotTried }, true, false},
	} {
		w, s := fleet(), settings()
		for i := range w.Nodes {
			w.Nodes[i].Reach = world.NotTried
		}
		c.change(&w, &s)
		if got := NeedsReach(s, w, w.Nodes[3]); got != c.reach {
			t.Errorf("%s: n1 is tried: %t", name, got)
		}
		if got := NeedsMajority(s, w); got != c.majority {
			t.Errorf("%s: others are tried: %t", name, got)
		}
		if NeedsReach(s, w, w.Nodes[4]) {
			t.Errorf("%s: n2 is tried", name)
		}
	}
}
