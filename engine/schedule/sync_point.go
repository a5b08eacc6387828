package schedule

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// syncPoint counts the hosts of a play, or of one batch of it, that have come to one
// point of the program: a barrier, a label, a run_once task, or the end of a serial play. Every
// member ends up in exactly one of passed, skipped and lost. It is guarded by
// the coord's lock.
type syncPoint struct {
	syncPointKey
	what    string
	members []*host
	// end is true for the end of a play: what becomes of a host later does not
	// change that it came there.
	end         bool
	arrivals    map[*host]arrival
	prefix      int // how many of the first members are in fate, at least
	count       [3]int
	waiters     []*syncWaiter
	partialWait bool // a waiter is content with some of the hosts
	// once is the task, when this is where a run_once task stands and a host has
	// come to it.
	once *runOnce
	// rollout is that of the block which begins here; nil for others.
	rollout *blockRollout
}

// syncPointKey is an operation, and the batch for which it is a gate; nil for all
// hosts of the play.
type syncPointKey struct {
	op    int
	batch *batch
}

// arrival is how a host went past a gate.
type arrival int

const (
	arrived  arrival = iota // came to it
	bypassed                // went around it, by a condition
	lost                    // failed before it, or is parked
)

func (g *syncPoint) record(h *host, f arrival) {
	if old, ok := g.arrivals[h]; ok {
		if old == f {
			return
		}
		g.count[old]--
	}
	g.arrivals[h] = f
	g.count[f]++
	if g.rollout != nil {
		g.rollout.recordArrival(h, f)
	}
}

func (g *syncPoint) complete() bool { return len(g.arrivals) == len(g.members) }

// open tells whether a barrier is open: everybody came to it, or never will.
func (g *syncPoint) open() bool { return g.complete() }

// met tells whether a need is met; err says that it can no longer be. Hosts
// that go around a label do not count, neither do those that are not in the run:
// with --limit, what the others do counts as done.
func (g *syncPoint) met(count int) (bool, error) {
	toRun := len(g.members) - g.count[bypassed]
	possible := toRun - g.count[lost]
	if count == 0 {
		if !g.complete() {
			return false, nil
		}
		if toRun == 0 || g.count[arrived] > 0 {
			return true, nil
		}
		return false, g.unmetError()
	}
	required := min(count, toRun)
	switch {
	case g.count[arrived] >= count, g.complete() && g.count[arrived] >= required:
		return true, nil
	case possible < required:
		return false, g.unmetError()
	}
	return false, nil
}

func (g *syncPoint) unmetError() error {
	return fmt.Errorf("cannot get past %s: %s", g.what, g.lossSummary())
}

// lossSummary names hosts that were lost, with the cause of the first that has one.
func (g *syncPoint) lossSummary() string {
	causes := map[string]string{}
	for h, f := range g.arrivals {
		if f == lost {
			causes[h.name] = h.cause
		}
	}
	names := slices.Sorted(maps.Keys(causes))
	text := "lost " + strings.Join(names[:min(len(names), 3)], ", ")
	if len(names) > 3 {
		text += fmt.Sprintf(" and %d more", len(names)-3)
	}
	for _, n := range names {
		if causes[n] != "" {
			return text + "; " + n + ": " + causes[n]
		}
	}
	return text
}

// missing names hosts that have not come yet, for people who wait. Every host
// that waits asks, and most of the first ones have come by then: they are not
// looked at again.
func (g *syncPoint) missing() string {
	for g.prefix < len(g.members) && g.has(g.members[g.prefix]) {
		g.prefix++
	}
	var names []string
	for _, h := range g.members[g.prefix:] {
		if len(names) == 3 {
			break
		}
		if !g.has(h) {
			names = append(names, h.name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	text := ": " + strings.Join(names, ", ")
	if more := len(g.members) - len(g.arrivals) - len(names); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// has tells whether what became of h is decided.
func (g *syncPoint) has(h *host) bool {
	_, ok := g.arrivals[h]
	return ok
}

// syncWaiter is a host that waits at a gate for a number of others; 0 means
// all that are to run the label, barrierCount all of the play.
type syncWaiter struct {
	*waiter
	count int
}

const barrierCount = -1

// wait lets a host wait at the gate.
func (g *syncPoint) wait(w *waiter, count int) {
	g.waiters = append(g.waiters, &syncWaiter{waiter: w, count: count})
	g.partialWait = g.partialWait || count > 0
}

func (w *syncWaiter) satisfied(g *syncPoint) (bool, error) {
	if w.count == barrierCount {
		return g.open(), nil
	}
	return g.met(w.count)
}
