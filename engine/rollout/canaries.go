package rollout

import "slices"

// stage returns the first group that still needs a canary in a step; nil after the last.
func (r *Rollout) stage(step int) map[string]bool {
	for _, group := range r.rules.Canary {
		proved := 0
		for h := range r.proved {
			if group[h] {
				proved++
			}
		}
		if proved < r.rules.Canaries && r.hasCandidate(group, step) {
			return group
		}
	}
	return nil
}

// hasCandidate reports whether a host of the group is inside, or waits or is undecided in a
// step.
func (r *Rollout) hasCandidate(group map[string]bool, step int) bool {
	if r.anyInside(group) || slices.ContainsFunc(r.waiting, func(e Entrant) bool {
		return group[e.Host] && (e.Interrupted || r.placeOf(e.Host).step == step)
	}) {
		return true
	}
	for h := range r.undecided {
		if group[h] && r.placeOf(h).step == step {
			return true
		}
	}
	return false
}

// mayEnterAlone reports whether a host may enter alone, except for hosts on which
// nothing is left to change.
func (r *Rollout) mayEnterAlone(e Entrant) bool {
	for _, in := range r.inside {
		if !in.Finishing {
			return false
		}
	}
	return len(r.inside) < e.MaxParallel && !r.isOccupied(e.Host) && !r.groupFull(e, false)
}

// mayBeCanary reports whether a host may enter as the canary of its group: alone, within the
// limits, and not after a failure if another host of the group can prove the change.
func (r *Rollout) mayBeCanary(e Entrant, group map[string]bool) bool {
	if !r.mayEnterAlone(e) || !e.Interrupted && !r.mayEnter()(e) {
		return false
	}
	if !e.FailedBefore {
		return true
	}
	step := r.placeOf(e.Host).step
	for h := range r.undecided {
		if group[h] && r.placeOf(h).step == step {
			return false
		}
	}
	return !slices.ContainsFunc(r.waiting, func(w Entrant) bool {
		return group[w.Host] && !w.FailedBefore && (w.Interrupted || r.placeOf(w.Host).step == step)
	})
}
