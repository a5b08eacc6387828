package runs

import (
	"path/filepath"
	"time"

	"deployer/engine"
	"deployer/engine/journal"
	"deployer/engine/plan"
	"deployer/runs/history"
)

// maxPastRuns is the maximum number of logs that an estimate uses.
const maxPastRuns = 5

// Estimate returns the expected duration of a plan with the given number of hosts in
// parallel, and the number of logs that it is based on: those of the last runs of the
// same playbook. ok is false when the logs do not suffice.
func (c Runner) Estimate(p *plan.Plan, parallelism int) (took time.Duration, runs int, ok bool) {
	known, err := c.history()
	if err != nil {
		return 0, 0, false
	}
	past, _ := known.List() // unreadable logs are skipped
	durations := &plan.History{}
	for _, r := range PastRuns(past, p.Invocation) {
		if journal.Scan(r.Path, func(_ *journal.Header, ev *engine.Event) error {
			if ev != nil {
				durations.Add(*ev)
			}
			return nil
		}) == nil {
			durations.EndRun()
		}
	}
	took, ok = durations.Estimate(p, parallelism)
	return max(took.Round(time.Second), time.Second), durations.Runs, ok
}

// PastRuns returns the runs on which an estimate for an invocation is based, newest first.
// A run of another machine counts when its playbook has the same name.
func PastRuns(all []*history.Entry, call journal.Invocation) []*history.Entry {
	var out []*history.Entry
	for _, r := range all {
		then := r.Header.Invocation
		if !r.Here && filepath.Base(then.Playbook) == filepath.Base(call.Playbook) {
			then.Playbook, then.Inventory = call.Playbook, call.Inventory
		}
		if then.Same(call) && r.Report != nil && len(out) < maxPastRuns {
			out = append(out, r)
		}
	}
	return out
}
