package rollout

// Step is a part of a rollout that ends before the next one begins. Its groups are changed
// side by side.
type Step []Group

// Group are hosts of a step with limits of their own.
type Group struct {
	Hosts map[string]bool
	// MaxParallel is the maximum number of hosts of the group inside, beside
	// Entrant.MaxParallel; 0 for no limit.
	MaxParallel int
	// MaxFail is the number of hosts of the group that may fail before the rollout stops. MaxFail
	// replaces Entrant.MaxFail for these hosts. Below 0 there is none.
	MaxFail int
}

// place is the position of a host in the steps: hosts of no step come after all steps.
type place struct {
	step  int
	group *Group // nil for hosts of no step
}

// places returns the places of all hosts of the steps. A host has the first place that
// names it.
func places(steps []Step) map[string]place {
	out := map[string]place{}
	for i, step := range steps {
		for j := range step {
			for h := range step[j].Hosts {
				if _, ok := out[h]; !ok {
					out[h] = place{i, &step[j]}
				}
			}
		}
	}
	return out
}

func (r *Rollout) placeOf(host string) place {
	if p, ok := r.places[host]; ok {
		return p
	}
	return place{step: len(r.rules.Steps)}
}

// current returns the step whose hosts may enter: the first one that has a host which is
// undecided, waits, or is inside.
func (r *Rollout) current() int {
	if len(r.rules.Steps) == 0 {
		return 0
	}
	step := len(r.rules.Steps)
	for h := range r.undecided {
		step = min(step, r.placeOf(h).step)
	}
	for _, e := range r.waiting {
		step = min(step, r.placeOf(e.Host).step)
	}
	for h := range r.inside {
		step = min(step, r.placeOf(h).step)
	}
	return step
}

// groupFull reports whether the group of a waiting host has no room for it; with
// interrupted, hosts of it that wait after an interrupted run count as inside.
func (r *Rollout) groupFull(e Entrant, interrupted bool) bool {
	group := r.placeOf(e.Host).group
	if group == nil || group.MaxParallel <= 0 {
		return false
	}
	inside := 0
	for h := range r.inside {
		if r.placeOf(h).group == group {
			inside++
		}
	}
	for _, w := range r.waiting {
		if interrupted && w.Interrupted && r.placeOf(w.Host).group == group {
			inside++
		}
	}
	return inside >= group.MaxParallel
}

// overBudget reports whether the failure of a host is one more than its group or the
// rollout may have.
func (r *Rollout) overBudget(e Entrant) bool {
	group := r.placeOf(e.Host).group
	own := group != nil && group.MaxFail >= 0
	most, failed := e.MaxFail, 0
	if own {
		most = group.MaxFail
	}
	for _, h := range r.failed {
		switch g := r.placeOf(h).group; {
		case own && g == group, !own && (g == nil || g.MaxFail < 0):
			failed++
		}
	}
	return failed > most
}
