package schedule

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"deployer/shortlist"
)

// syncPoint counts the hosts of a play, or of one batch, at one point of the program: a
// barrier, a label, a run_once task, or the end of a serial play. The arrival of every
// member is recorded once; it can later become lost. The coordinator's lock guards it.
type syncPoint struct {
	syncPointKey
	what    string
	members []*host
	// end is true for the end of a play: a later loss of a host does not change its arrival
	// there.
	end         bool
	arrivals    map[*host]arrival
	prefix      int // number of first members whose arrival is recorded, at least
	count       [3]int
	waiters     []*syncWaiter
	partialWait bool // a waiter needs only some of the hosts
	// once is the run_once task at this point, set when the first host has arrived.
	once *runOnce
	// rollout is the rollout of the block that begins here; nil for others.
	rollout *blockRollout
}

// syncPointKey is an operation and its batch; a nil batch means all hosts of the play.
type syncPointKey struct {
	op    int
	batch *batch
}

// arrival is the way in which a host passed a sync point.
type arrival int

const (
	arrived  arrival = iota // reached the point
	bypassed                // passed around it, because of a condition
	lost                    // failed before it, or left the run
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

// open reports whether a barrier is open: every host has arrived, or never will.
func (g *syncPoint) open() bool { return g.complete() }

// met reports whether a need is met; the error says why it can no longer be met. Hosts that
// bypass a label do not count, nor do hosts outside the run: with --limit, their part
// counts as done.
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

// lossSummary names the lost hosts, with the first cause.
func (g *syncPoint) lossSummary() string {
	causes := map[string]string{}
	for h, f := range g.arrivals {
		if f == lost {
			causes[h.name] = h.cause
		}
	}
	names := slices.Sorted(maps.Keys(causes))
	text := "lost " + shortlist.Names(names, 3)
	for _, n := range names {
		if causes[n] != "" {
			return text + "; " + n + ": " + causes[n]
		}
	}
	return text
}

// missing names, for people, the hosts that have not arrived. Every waiting host asks, so
// hosts of the prefix that have arrived are not looked at again.
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

// has reports whether the arrival of h is recorded.
func (g *syncPoint) has(h *host) bool {
	_, ok := g.arrivals[h]
	return ok
}

// syncWaiter is a host that waits at a sync point for a number of hosts; 0 means all that
// run the label, barrierCount all of the play.
type syncWaiter struct {
	*waiter
	count int
}

const barrierCount = -1

// wait adds a waiting host.
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
