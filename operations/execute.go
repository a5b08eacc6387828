package operations

import (
	"context"

	"deployer/runs"
	"deployer/tasks/control/report"
)

// finalRoles are the roles in the last play of install, whose rows are problems that the run has
// not repaired.
var finalRoles = []string{"effects", "extensions"}

// Execute executes a run. Problems that an install has found at its end, and that no run
// repairs, make it Unhealthy. The error is a *runs.DriftError when the run applies a plan and
// hosts differ from it.
func (o Operator) Execute(ctx context.Context, r *runs.Run) error {
	remaining := &runs.CheckRows{Roles: finalRoles}
	done, err := watch(ctx, o, r, Watched{Changing, r.TargetHosts()}, r.Do, remaining)
	if done == nil {
		return err
	}
	shown := o.Caller.Show(RunEnded{Run: r, Report: done})
	return first(err, shown, Outcome(done), o.remaining(r, remaining))
}

// remaining shows the problems that a run of install has found at its end.
func (o Operator) remaining(r *runs.Run, found *runs.CheckRows) error {
	problems := report.Problems(found.All())
	if r.Check || len(problems) == 0 {
		return nil
	}
	report.Sort(problems)
	return first(o.Caller.Show(RemainingProblems(problems)), ended(Unhealthy))
}
