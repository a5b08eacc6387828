package plan

import (
	"cmp"
	"slices"
	"time"

	"deployer/engine"
)

// History has the durations of steps in past runs of a playbook. The zero value is
// empty.
type History struct {
	// Runs is the number of past runs.
	Runs    int
	changed map[string][]time.Duration // by step: durations of executions that changed something
	idle    []time.Duration            // per host and run: total of all other steps
	now     map[string]time.Duration   // by host: idle time in the run that is being added
}

// Add adds an event of a past run.
func (h *History) Add(e engine.Event) {
	if e.Type != engine.EventStepEnd || e.Result == nil {
		return
	}
	switch e.Result.Status {
	case engine.StatusChanged:
		if h.changed == nil {
			h.changed = map[string][]time.Duration{}
		}
		h.changed[e.Step] = append(h.changed[e.Step], e.Result.Elapsed)
	case engine.StatusOK:
		if h.now == nil {
			h.now = map[string]time.Duration{}
		}
		h.now[e.Host] += e.Result.Elapsed
	}
}

// EndRun ends a past run after its last event.
func (h *History) EndRun() {
	h.Runs++
	for _, d := range h.now {
		h.idle = append(h.idle, d)
	}
	h.now = nil
}

// Estimate estimates the duration of applying the plan with `forks` hosts in
// parallel, by the medians of past runs; false when they have none of its steps.
// Waits for other hosts are not included.
func (h *History) Estimate(p *Plan, forks int) (time.Duration, bool) {
	step := func(at int) time.Duration { return median(h.changed[p.Changes[at].Step]) }
	known := false
	var longest, all, turns time.Duration
	base := median(h.idle)
	for _, host := range p.Hosts {
		own := base
		for _, at := range host.Changes {
			d := step(at)
			known = known || d > 0
			if n := p.Changes[at].MaxParallel; n > 0 {
				turns += d / time.Duration(n)
			} else {
				own += d
			}
		}
		longest, all = max(longest, own), all+own
	}
	return max(longest, all/time.Duration(max(1, min(forks, len(p.Hosts))))) + turns, known
}

func median(all []time.Duration) time.Duration {
	if len(all) == 0 {
		return 0
	}
	all = slices.SortedFunc(slices.Values(all), cmp.Compare)
	return all[len(all)/2]
}
