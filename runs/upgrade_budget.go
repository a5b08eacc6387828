package runs

import (
	"fmt"

	"deployer/limit"
)

// upgradeBudget returns the failure budget of an upgrade: that of the inventory, with as
// many minions as the rollout of the upgrade may lose (the variable upgrade_max_fail), so
// that the budget does not end a run that the rollout would continue.
func (r *Run) upgradeBudget() map[string]limit.Limit {
	out, minions := r.failureBudget(), len(r.Project.Cluster.Minions)
	asked, err := limit.Parse(fmt.Sprint(r.Extra["upgrade_max_fail"]))
	if err == nil && asked.Of(minions) > out["minion"].Of(minions) {
		out["minion"] = asked
	}
	return out
}
