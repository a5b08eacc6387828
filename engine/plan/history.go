package plan

import (
	"cmp"
	"slices"
	"time"

	"deployer/engine"
)

// History is how long steps took in past runs of the same playbook.
type History struct {
	// Runs is how many there are.
	Runs    int
	changed map[string][]time.Duration // by step: of those that changed something
	idle    []time.Duration            // of a host in a run: of all its other steps
	now     map[string]time.Duration   // idle, of the run that is being read
}

// Add takes in a step of a past run.
func (h *History) Add(e engine.Event) {
	if e.Type != engine.StepEnd || e.Result == nil {
		return
	}
	switch e.Result.Status {
	case engine.Altered:
		if h.changed == nil {
			h.changed = map[string][]time.Duration{}
		}
		h.changed[e.Step] = append(h.changed[e.Step], e.Result.Elapsed)
	case engine.OK:
		if h.now == nil {
			h.now = map[string]time.Duration{}
		}
		h.now[e.Host] += e.Result.Elapsed
	}
}

// EndRun tells that all steps of a run were added.
func (h *History) EndRun() {
	h.Runs++
	for _, d := range h.now {
		h.idle = append(h.idle, d)
	}
	h.now = nil
}

// Estimate is about how long applying the plan takes, with so many hosts at once,
// by the medians of past runs; false when they know nothing of its steps. What a
// step waits for on other hosts is not in it.
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
