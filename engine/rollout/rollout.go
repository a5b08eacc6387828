// Package rollout decides which hosts may be changed next when a change reaches
// hosts that are in use: one canary of each group first, each alone; after these
// have proved the change harmless, the others, a limited number at a time. It is
// pure: no host, no clock, no lock. The scheduler reports the fate of each host and
// asks which hosts may enter.
//
// A host is undecided until it is known whether the change concerns it. Then it
// waits, enters, and leaves with an Outcome, or is passed over because nothing
// changes on it. A canary that fails stops the rollout, and so do more failures than
// the rules allow. No host enters after that.
package rollout

import "slices"

// Rules say how a change is rolled out.
type Rules struct {
	// Canary are groups of hosts. One changed host of each group enters alone, in the
	// order of the groups, before any other host may. A group without changes has no
	// canary.
	Canary []map[string]bool
	// OneAtATime are groups of which at most one host is inside at any time.
	OneAtATime []map[string]bool
	// MaxFail is the number of hosts that may fail after the canaries before the rollout
	// stops.
	MaxFail int
}

// Outcome is how a host has left a rollout.
type Outcome int

// The outcomes.
const (
	Unchanged Outcome = iota // nothing was changed on the host, so it proves nothing
	Proved                   // the host was changed and passed its checks
	Failed                   // the host was changed and failed or was lost
)

// Rollout is the state of one rollout. It is not safe for concurrent use.
type Rollout struct {
	rules     Rules
	undecided map[string]bool
	waiting   []entrant
	inside    map[string]bool
	proved    map[string]bool
	failed    []string
	stopped   bool
}

// entrant is a host that waits for its turn.
type entrant struct {
	host        string
	order       int // position in the inventory
	maxParallel int
}

// New returns a rollout over hosts that are all undecided.
func New(rules Rules, hosts []string) *Rollout {
	r := &Rollout{rules: rules, undecided: map[string]bool{}, inside: map[string]bool{}, proved: map[string]bool{}}
	for _, h := range hosts {
		r.undecided[h] = true
	}
	return r
}

// Pass decides that nothing changes on a host, or that it will never enter. It has
// no effect on a host that is decided.
func (r *Rollout) Pass(host string) { delete(r.undecided, host) }

// Wait decides that a host has changes. order is its position, by which waiting
// hosts enter; maxParallel is the maximum number of hosts inside when it enters,
// itself included, at least 1.
func (r *Rollout) Wait(host string, order, maxParallel int) {
	delete(r.undecided, host)
	r.waiting = append(r.waiting, entrant{host, order, max(maxParallel, 1)})
	slices.SortStableFunc(r.waiting, func(a, b entrant) int { return a.order - b.order })
}

// Withdraw removes a host that was lost before it entered, or while inside, which is
// a failure.
func (r *Rollout) Withdraw(host string) {
	r.Pass(host)
	r.waiting = slices.DeleteFunc(r.waiting, func(e entrant) bool { return e.host == host })
	if r.inside[host] {
		r.Leave(host, Failed)
	}
}

// Leave removes a host that was inside.
func (r *Rollout) Leave(host string, o Outcome) {
	if !r.inside[host] {
		return
	}
	canary := r.stage() != nil
	delete(r.inside, host)
	switch o {
	case Proved:
		r.proved[host] = true
	case Failed:
		r.failed = append(r.failed, host)
		r.stopped = r.stopped || canary || len(r.failed) > r.rules.MaxFail
	case Unchanged:
	}
}

// Stopped reports whether no host may enter any more.
func (r *Rollout) Stopped() bool { return r.stopped }

// Untouched returns the number of hosts that wait or are undecided.
func (r *Rollout) Untouched() int { return len(r.waiting) + len(r.undecided) }

// Next lets the hosts enter that may enter now, and returns their names.
func (r *Rollout) Next() []string {
	var in []string
	for {
		host, ok := r.next()
		if !ok {
			return in
		}
		r.waiting = slices.DeleteFunc(r.waiting, func(e entrant) bool { return e.host == host })
		r.inside[host] = true
		in = append(in, host)
	}
}

func (r *Rollout) next() (host string, ok bool) {
	if r.stopped {
		return "", false
	}
	if group := r.stage(); group != nil {
		if len(r.inside) > 0 {
			return "", false
		}
		for _, e := range r.waiting {
			if group[e.host] {
				return e.host, true
			}
		}
		return "", false // a host of the group is undecided
	}
	for _, e := range r.waiting {
		if len(r.inside) < e.maxParallel && !r.taken(e.host) {
			return e.host, true
		}
	}
	return "", false
}

// stage returns the first group that still needs its canary; nil after the last.
func (r *Rollout) stage() map[string]bool {
	for _, group := range r.rules.Canary {
		if !anyOf(group, r.proved) && r.mayCome(group) {
			return group
		}
	}
	return nil
}

// mayCome reports whether a host of the group is inside, waits, or is undecided.
func (r *Rollout) mayCome(group map[string]bool) bool {
	return anyOf(group, r.inside) || anyOf(group, r.undecided) ||
		slices.ContainsFunc(r.waiting, func(e entrant) bool { return group[e.host] })
}

// taken reports whether a group with one place has another host inside.
func (r *Rollout) taken(host string) bool {
	return slices.ContainsFunc(r.rules.OneAtATime, func(group map[string]bool) bool {
		return group[host] && anyOf(group, r.inside)
	})
}

// anyOf reports whether two sets share a host.
func anyOf(a, b map[string]bool) bool {
	for h := range b {
		if a[h] {
			return true
		}
	}
	return false
}
