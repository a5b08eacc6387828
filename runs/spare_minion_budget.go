package runs

import "deployer/limit"

// spareMinionBudget returns the failure budget of verbs that work on a cluster in
// use, such as scale-up and apply: that of the inventory, with at least one minion
// unless max_fail of the inventory limits minions. A dead node is a frequent reason
// to add another one, and must not keep the others from a repair; in a small cluster
// a tenth of the minions is less than one. Hosts that join have a budget of their own
// in the playbook scale-up.
func (r *Run) spareMinionBudget() map[string]limit.Limit {
	out, minions := r.failureBudget(), len(r.Project.Cluster.Minions)
	if _, limited := r.Project.Inventory.MaxFail["minion"]; !limited && out["minion"].Of(minions) < 1 {
		out["minion"] = limit.Limit{Count: 1}
	}
	return out
}
