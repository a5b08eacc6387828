package runs

import (
	"time"

	"deployer/engine"
	"deployer/engine/journal"
	"deployer/engine/plan"
)

// maxPastRuns is how many past runs an estimate looks at.
const maxPastRuns = 5

// Estimate tells how long a plan will take with so many hosts at one time, by the
// logs of so many past runs of the same playbook on this machine. ok is false when
// they do not tell.
func Estimate(p *plan.Plan, parallelism int) (took time.Duration, runs int, ok bool) {
	dir, err := journal.Dir()
	if err != nil {
		return 0, 0, false
	}
	past, _ := journal.List(dir) // those that can be read will do
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
