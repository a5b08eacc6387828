package runs

import (
	"fmt"
	"testing"

	"deployer/cluster"
	"deployer/inventory"
	"deployer/limit"
	"deployer/project"
)

// TestSpareMinionBudget checks how many minions a change of a cluster in use may
// lose.
func TestSpareMinionBudget(t *testing.T) {
	for name, c := range map[string]struct {
		inventory map[string]limit.Limit
		minions   int
		want      int
	}{
		"a tenth of three minions, at least one": {nil, 3, 1},
		"a tenth of forty minions":               {nil, 40, 4},
		"the inventory allows none":              {map[string]limit.Limit{"minion": {Count: 0}}, 3, 0},
		"the inventory allows more":              {map[string]limit.Limit{"minion": {Count: 2}}, 3, 2},
		"the inventory limits masters":           {map[string]limit.Limit{"master": {Count: 1}}, 3, 1},
	} {
		t.Run(name, func(t *testing.T) {
			var names []string
			for i := range c.minions {
				names = append(names, fmt.Sprintf("n%d", i+1))
			}
			r := &Run{Project: &project.Project{Cluster: &cluster.Cluster{Minions: names}, Inventory: &inventory.Inventory{MaxFail: c.inventory}}}
			if got := r.spareMinionBudget()["minion"].Of(c.minions); got != c.want {
				t.Errorf("%d of %d minions may fail, want %d", got, c.minions, c.want)
			}
		})
	}
}
