// Package rollout decides which hosts may be changed next when a change reaches
// hosts that are in use: canaries of each group first, each alone; after these
// have proved the change harmless, the others, a limited number at a time, in turns
// over the values of a property such as the zone. The package is pure: no host, no clock, no
// lock. The scheduler reports the outcome on each host and calls [Rollout.Next] for the hosts that
// may enter.
//
// A host is undecided until it is known whether something would change on it. If so, it
// waits, enters, and leaves with an Outcome; otherwise the rollout passes it over. A canary or a critical host that fails stops the rollout, and so do
// more failures than the rules allow. No host enters after that.
//
// After an interrupted run some hosts are still out of service. These hosts enter first and count
// for the limits, so that a new run does not add more hosts to them.
package rollout

import (
	"slices"

	"deployer/limit"
)

// Rules are the rules of a rollout.
type Rules struct {
	// Canary are groups of hosts. Changed hosts of each group enter alone, in the order
	// of the groups, before any other host may. A group without changes has no canary.
	Canary []map[string]bool
	// Canaries is the number of canaries of each group; 0 counts as 1.
	Canaries int
	// OneAtATime are groups of which at most one host is inside at any time.
	OneAtATime []map[string]bool
	// Critical are hosts whose failure stops the rollout.
	Critical map[string]bool
	// Pause lets no host enter after the canaries.
	Pause bool
	// Steps are changed one after the other, and then the hosts that are in no step. Groups
	// of Canary have their canary when the first of their hosts has its step. Hosts that an
	// earlier run has left inside wait for no step.
	Steps []Step
}

// Entrant is a host that has changes. Its limits hold when it enters, and when it fails.
type Entrant struct {
	Host  string
	Order int // position in the inventory, by which waiting hosts enter
	// MaxParallel is the maximum number of hosts inside, itself included; at least 1.
	MaxParallel int
	// MaxFail is the number of hosts that may fail after the canaries, itself included,
	// before the rollout stops.
	MaxFail int
	// Spread is a value over which waiting hosts take turns: the next one has a value
	// with the fewest hosts that have entered.
	Spread string
	// Domains limit the hosts that are inside together with this one.
	Domains []Domain
	// Interrupted is true when an earlier run was interrupted while the host was inside, so
	// that the host may be out of service. Such a host enters before others and, while it waits,
	// counts as inside for them.
	Interrupted bool
	// Finishing is true for an interrupted host on which nothing is left to change: it enters
	// at once, and is no canary.
	Finishing bool
	// FailedBefore is true when the host failed in a run that this one resumes. Such a host enters
	// after others, and is a canary only when no other host of the group may be one.
	FailedBefore bool
}

// Domain is a set of hosts that share a value, such as the nodes of a zone. At most Max of
// them are inside at a time, at least 1. A share is one of the decided hosts of the domain.
type Domain struct {
	Name string // unique in the rollout: zones and racks with equal names are different domains
	Max  limit.Limit
}

// Outcome is the outcome of a rollout on a host.
type Outcome int

// The outcomes.
const (
	Unchanged Outcome = iota // nothing was changed on the host, so it proves nothing
	Proved                   // the host was changed and passed its checks
	Failed                   // the host was changed and failed or was lost
)

// Rollout is the state of one rollout. Rollout is not safe for concurrent use.
type Rollout struct {
	rules     Rules
	places    map[string]place
	undecided map[string]bool
	left      map[string]bool // undecided hosts that an earlier run has left inside
	waiting   []Entrant
	inside    map[string]Entrant
	insideBy  map[string]int  // by domain
	canary    map[string]bool // hosts inside that entered as canaries
	proved    map[string]bool
	entered   map[string]int // by Spread
	domains   map[string]int // decided hosts by domain
	failed    []string
	stopped   bool
}

// New returns a rollout over hosts that are all undecided.
func New(rules Rules, hosts []string) *Rollout {
	rules.Canaries = max(rules.Canaries, 1)
	r := &Rollout{rules: rules, places: places(rules.Steps), undecided: map[string]bool{}, left: map[string]bool{}, inside: map[string]Entrant{}, canary: map[string]bool{}, proved: map[string]bool{},
		insideBy: map[string]int{}, entered: map[string]int{}, domains: map[string]int{}}
	for _, h := range hosts {
		r.undecided[h] = true
	}
	return r
}

// LeftInside records that an earlier run was interrupted while a host was inside. As long as
// the host is undecided, it counts as inside for others, in each of their domains. LeftInside has no
// effect on a host that is decided.
func (r *Rollout) LeftInside(host string) {
	if r.undecided[host] {
		r.left[host] = true
	}
}

// Pass decides that nothing changes on a host, or that it will never enter. It has
// no effect on a host that is decided.
func (r *Rollout) Pass(host string) {
	delete(r.undecided, host)
	delete(r.left, host)
}

// PassIn is Pass for a host whose domains are known: it counts for shares.
func (r *Rollout) PassIn(host string, domains []Domain) {
	if r.undecided[host] {
		for _, d := range domains {
			r.domains[d.Name]++
		}
	}
	r.Pass(host)
}

// Wait decides that a host has changes.
func (r *Rollout) Wait(e Entrant) {
	e.MaxParallel = max(e.MaxParallel, 1)
	r.PassIn(e.Host, e.Domains)
	r.waiting = append(r.waiting, e)
	slices.SortStableFunc(r.waiting, func(a, b Entrant) int { return a.Order - b.Order })
}

// Withdraw removes a host that was lost before it entered, or while inside, which is
// a failure.
func (r *Rollout) Withdraw(host string) {
	r.Pass(host)
	r.waiting = slices.DeleteFunc(r.waiting, func(e Entrant) bool { return e.Host == host })
	if r.IsInside(host) {
		r.Leave(host, Failed)
	}
}

// Leave removes a host that was inside.
func (r *Rollout) Leave(host string, o Outcome) {
	e, ok := r.inside[host]
	if !ok {
		return
	}
	canary := r.canary[host]
	delete(r.inside, host)
	for _, d := range e.Domains {
		r.insideBy[d.Name]--
	}
	delete(r.canary, host)
	switch o {
	case Proved:
		r.proved[host] = true
	case Failed:
		r.failed = append(r.failed, host)
		r.stopped = r.stopped || canary || r.rules.Critical[host] || r.overBudget(e)
	case Unchanged:
	}
}

// IsInside reports whether a host is inside.
func (r *Rollout) IsInside(host string) bool { _, ok := r.inside[host]; return ok }

// IsCanary reports whether a host is inside as a canary.
func (r *Rollout) IsCanary(host string) bool { return r.canary[host] }

// Stopped reports whether no host may enter any more.
func (r *Rollout) Stopped() bool { return r.stopped }

// Paused reports whether hosts wait that only Rules.Pause keeps from entering.
func (r *Rollout) Paused() bool {
	return !r.stopped && len(r.waiting) > 0 && r.stage(r.current()) == nil && r.atPause()
}

// atPause reports whether canaries have proved the change, and a pause follows.
func (r *Rollout) atPause() bool {
	return r.rules.Pause && len(r.rules.Canary) > 0 && len(r.proved) > 0
}

// Untouched returns the number of hosts that wait or are undecided.
func (r *Rollout) Untouched() int { return len(r.waiting) + len(r.undecided) }

// Next lets the hosts enter that may enter now, and returns their names.
func (r *Rollout) Next() []string {
	var in []string
	for {
		e, canary, ok := r.next()
		if !ok {
			return in
		}
		r.canary[e.Host] = canary
		r.waiting = slices.DeleteFunc(r.waiting, func(w Entrant) bool { return w.Host == e.Host })
		r.inside[e.Host] = e
		for _, d := range e.Domains {
			r.insideBy[d.Name]++
		}
		r.entered[e.Spread]++
		in = append(in, e.Host)
	}
}

func (r *Rollout) next() (e Entrant, canary, ok bool) {
	if r.stopped {
		return Entrant{}, false, false
	}
	if e, ok := r.first(func(e Entrant) bool { return e.Finishing && !r.isOccupied(e.Host) }); ok {
		return e, false, true
	}
	step := r.current()
	open := func(e Entrant) bool { return e.Interrupted || r.placeOf(e.Host).step == step }
	if group := r.stage(step); group != nil {
		// Without a waiting host of the group, one that is undecided may become its canary.
		e, ok := r.first(func(e Entrant) bool { return group[e.Host] && open(e) && r.mayBeCanary(e, group) })
		if !ok { // the limits may have no room for it beside a host that is out of service
			e, ok = r.first(func(e Entrant) bool { return e.Interrupted && r.mayEnterAlone(e) })
		}
		return e, ok, ok
	}
	if r.atPause() {
		return Entrant{}, false, false
	}
	mayEnter := r.mayEnter()
	e, ok = r.first(func(e Entrant) bool { return open(e) && mayEnter(e) && !r.groupFull(e, !e.Interrupted) })
	return e, false, ok
}

// first returns the waiting host that is next among those that test accepts.
func (r *Rollout) first(test func(Entrant) bool) (next Entrant, ok bool) {
	for _, e := range r.waiting {
		if test(e) && (!ok || r.goesBefore(e, next)) {
			next, ok = e, true
		}
	}
	return next, ok
}

// goesBefore reports whether a waiting host enters before another one that is before it in
// the inventory.
func (r *Rollout) goesBefore(e, other Entrant) bool {
	if a, b := e.rank(), other.rank(); a != b {
		return a < b
	}
	return r.entered[e.Spread] < r.entered[other.Spread]
}

// rank orders hosts by what earlier runs have left there.
func (e Entrant) rank() int {
	switch {
	case e.Interrupted:
		return 0
	case e.FailedBefore:
		return 2
	}
	return 1
}

// mayEnter returns a test: whether the limits let a waiting host enter after the canaries.
func (r *Rollout) mayEnter() func(Entrant) bool {
	unknown := len(r.left) // their domains are
	interrupted, interruptedBy := unknown, map[string]int{}
	for _, w := range r.waiting {
		if !w.Interrupted {
			continue
		}
		interrupted++
		for _, d := range w.Domains {
			interruptedBy[d.Name]++
		}
	}
	return func(e Entrant) bool {
		others, othersBy, unknown := interrupted, interruptedBy, unknown
		if e.Interrupted {
			others, othersBy, unknown = 0, nil, 0
		}
		if len(r.inside)+others >= e.MaxParallel || r.isOccupied(e.Host) {
			return false
		}
		return !slices.ContainsFunc(e.Domains, func(d Domain) bool {
			return r.insideBy[d.Name]+othersBy[d.Name]+unknown >= max(d.Max.Of(r.domains[d.Name]), 1)
		})
	}
}

// isOccupied reports whether a group with one place has another host inside.
func (r *Rollout) isOccupied(host string) bool {
	return slices.ContainsFunc(r.rules.OneAtATime, func(group map[string]bool) bool {
		return group[host] && r.anyInside(group)
	})
}

// anyInside reports whether a host of a group is inside.
func (r *Rollout) anyInside(group map[string]bool) bool {
	for h := range r.inside {
		if group[h] {
			return true
		}
	}
	return false
}
