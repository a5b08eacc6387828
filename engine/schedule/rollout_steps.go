package schedule

import (
	"slices"

	"deployer/engine/lang"
	"deployer/engine/program"
	"deployer/engine/rollout"
)

// stepsOf returns the steps of a rollout. Shares are of the hosts of a group that take part
// in the rollout.
func (r *run) stepsOf(b *program.Block, vars *lang.Vars, members []string) ([]rollout.Step, error) {
	steps, err := b.Steps(vars)
	if err != nil {
		return nil, err
	}
	var out []rollout.Step
	for _, groups := range steps {
		var step rollout.Step
		for _, g := range groups {
			set, err := r.groupsOf(b, "steps", program.HostGroups{Names: g.Hosts}, vars)
			if err != nil {
				return nil, err
			}
			hosts := map[string]bool{}
			for _, name := range members {
				if slices.ContainsFunc(set, func(group map[string]bool) bool { return group[name] }) {
					hosts[name] = true
				}
			}
			one := rollout.Group{Hosts: hosts, MaxFail: -1}
			if g.MaxParallel != nil {
				one.MaxParallel = max(g.MaxParallel.Of(len(hosts)), 1)
			}
			if g.MaxFail != nil {
				one.MaxFail = g.MaxFail.Of(len(hosts))
			}
			step = append(step, one)
		}
		out = append(out, step)
	}
	return out, nil
}
