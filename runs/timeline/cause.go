package timeline

import (
	"container/list"
	"slices"
)

// A host ends the wait of others when it ends a step or leaves the run; it then has
// the newest activity of all hosts that do not wait for the same thing. The text of a
// wait names the hosts that were missing when the wait began: the text of the last
// host names the fewest hosts, usually only the one that the others waited for.

// waits is the state of the waits of all hosts at one event of the journal.
type waits struct {
	byHost map[string]*openWait
	groups map[string]*group // by Reason.For
	recent *list.List        // names of hosts, the newest activity first
	place  map[string]*list.Element
}

type openWait struct {
	Reason
	seq int // number of the event with which the wait began
}

// group are the hosts that wait for the same thing.
type group struct {
	newest   Reason // of the host that came last
	released int    // number of the event with which the first wait ended; 0 for none
	cause    string // of the waits that were open at released
}

func newWaits() *waits {
	return &waits{byHost: map[string]*openWait{}, groups: map[string]*group{}, recent: list.New(), place: map[string]*list.Element{}}
}

// active records that a host has ended a step or has left the run.
func (w *waits) active(host string) {
	if e := w.place[host]; e != nil {
		w.recent.MoveToFront(e)
		return
	}
	w.place[host] = w.recent.PushFront(host)
}

func (w *waits) begin(host string, r Reason, seq int) {
	w.byHost[host] = &openWait{r, seq}
	g := w.groups[r.For]
	if g == nil {
		g = &group{}
		w.groups[r.For] = g
	}
	g.newest = r
}

// end returns the host that ended the wait of host; empty for none.
func (w *waits) end(host string, seq int) string {
	open := w.byHost[host]
	delete(w.byHost, host)
	g := w.groups[open.For]
	switch open.Kind {
	case Soak, RunLock, Other:
		return ""
	case Rollout, Throttle: // each host is admitted by another one
		return w.newest(host, open.Reason)
	}
	if g.released > open.seq { // the host was released together with the others
		return g.cause
	}
	g.released, g.cause = seq, w.newest(host, g.newest)
	return g.cause
}

// newest returns the host with the newest activity that may have ended the wait of host.
func (w *waits) newest(host string, r Reason) string {
	for e := w.recent.Front(); e != nil; e = e.Next() {
		name := e.Value.(string)
		if name == host || r.all && !slices.Contains(r.hosts, name) {
			continue
		}
		if other := w.byHost[name]; other == nil || other.For != r.For {
			return name
		}
	}
	if r.all && len(r.hosts) == 1 && r.hosts[0] != host { // the named host has no activity in the journal
		return r.hosts[0]
	}
	return ""
}
