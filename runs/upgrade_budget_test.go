package runs

import (
	"testing"

	"deployer/cluster"
	"deployer/engine/journal"
	"deployer/inventory"
	"deployer/limit"
	"deployer/project"
)

// TestUpgradeBudget checks that a run may lose as many minions as --max-fail of the upgrade
// says, and not fewer than the inventory allows.
func TestUpgradeBudget(t *testing.T) {
	for name, c := range map[string]struct {
		inventory map[string]limit.Limit
		asked     any
		want      int // of four minions
	}{
		"no --max-fail":          {nil, nil, 0},
		"--max-fail 0":           {nil, "0", 0},
		"--max-fail 1":           {nil, "1", 1},
		"--max-fail as a share":  {nil, "50%", 2},
		"the inventory has more": {map[string]limit.Limit{"minion": {Count: 3}}, "1", 3},
		"the inventory has less": {map[string]limit.Limit{"minion": {Count: 0}}, "2", 2},
	} {
		r := &Run{Options: Options{Invocation: journal.Invocation{Extra: map[string]any{"upgrade_max_fail": c.asked}}},
			Project: &project.Project{Cluster: &cluster.Cluster{Minions: []string{"n1", "n2", "n3", "n4"}}, Inventory: &inventory.Inventory{MaxFail: c.inventory}}}
		if got := r.upgradeBudget()["minion"]; got.Of(4) != c.want {
			t.Errorf("%s: %s, want %d of 4", name, got, c.want)
		}
	}
}
