package runs

import (
	"fmt"

	"deployer/engine/program"
	"deployer/limit"
)

// upgradeBudget returns the failure budget of an upgrade: that of the inventory, with as
// many minions as the rollout of the upgrade may lose (the variables upgrade_max_fail and
// upgrade_steps), so that the budget does not end a run that the rollout would continue.
func (r *Run) upgradeBudget() map[string]limit.Limit {
	out, minions := r.failureBudget(), len(r.Project.Cluster.Minions)
	asked, err := limit.Parse(fmt.Sprint(r.Extra["upgrade_max_fail"]))
	if err == nil && asked.Of(minions) > out["minion"].Of(minions) {
		out["minion"] = asked
	}
	if n := r.stepsBudget(); n > 0 {
		out["minion"] = limit.Limit{Count: out["minion"].Of(minions) + n}
	}
	return out
}

// stepsBudget returns how many hosts may fail in the steps of an upgrade whose groups have a
// budget of their own.
func (r *Run) stepsBudget() (n int) {
	given, ok := r.Extra["upgrade_steps"]
	if !ok {
		return 0
	}
	steps, err := program.ParseSteps(given)
	if err != nil {
		return 0 // the run reports it
	}
	for _, step := range steps {
		for _, g := range step {
			hosts := map[string]bool{}
			for _, pattern := range g.Hosts {
				names, _ := r.Project.Match(pattern) // as above
				for _, name := range names {
					hosts[name] = true
				}
			}
			if g.MaxFail != nil {
				n += g.MaxFail.Of(len(hosts))
			}
		}
	}
	return n
}
