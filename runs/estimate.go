package runs

import (
	"time"

	"deployer/engine"
	"deployer/engine/journal"
	"deployer/engine/plan"
)

// maxPastRuns is the maximum number of logs that an estimate uses.
const maxPastRuns = 5

// Estimate returns the expected duration of a plan with the given number of hosts in
// parallel, and the number of logs that it is based on: those of the last runs of the
// same playbook on this machine. ok is false when the logs do not suffice.
func Estimate(p *plan.Plan, parallelism int) (took time.Duration, runs int, ok bool) {
	dir, err := journal.Dir()
	if err != nil {
		return 0, 0, false
	}
	past, _ := journal.List(dir) // unreadable logs are skipped
	history := &plan.History{}
	for _, r := range past {
		if history.Runs == maxPastRuns || !r.Header.Invocation.Same(p.Invocation) || r.Report == nil {
			continue
		}
		if journal.Scan(journal.Path(dir, r.Header.Run), func(_ *journal.Header, ev *engine.Event) error {
			if ev != nil {
				history.Add(*ev)
			}
			return nil
		}) == nil {
			history.EndRun()
		}
	}
	took, ok = history.Estimate(p, parallelism)
	return max(took.Round(time.Second), time.Second), history.Runs, ok
}
