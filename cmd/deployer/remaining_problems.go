package main

import (
	"fmt"

	"deployer/runs"
	"deployer/tasks/control/report"
)

// finalRoles are the roles in the last play of install, whose rows are problems that the run has
// not repaired.
var finalRoles = []string{"effects", "extensions"}

// showRemaining prints the problems that a run of install has found at its end. It returns exit
// code 5 when there are some: the run is complete, and the cluster is not healthy.
func showRemaining(e env, o runOptions, found *runs.CheckRows) error {
	problems := report.Problems(found.All())
	if o.Check || len(problems) == 0 {
		return nil
	}
	report.Sort(problems)
	if o.output == "text" {
		fmt.Fprintf(e.stdout, "\nproblems that remain, because they are not in the inventory:\n%s\n", report.Table(problems))
	}
	return exitSilently(exitUnhealthy)
}
