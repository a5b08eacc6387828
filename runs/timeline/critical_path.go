package timeline

import (
	"slices"
	"sort"
	"time"
)

// PathKind is the kind of a part of the critical path.
type PathKind string

// The kinds of parts.
const (
	PathStep    PathKind = "step"
	PathWait    PathKind = "wait"    // no other host caused it: a soak time, or a lock of another run
	PathConnect PathKind = "connect" // until the host was connected
	PathBetween PathKind = "between" // between two steps: the controller and the network
	PathEnd     PathKind = "end"     // after the last step of any host
)

// Part is a part of the critical path.
type Part struct {
	Kind     PathKind
	Host     string
	Step     int // index into Timeline.Steps; of PathStep
	Wait     *Wait
	From, To time.Duration
	// Held is the host that waited for this one when the part ended, and For is the thing
	// for which it waited; empty when the path stays on the host.
	Held, For string
}

// CriticalPath returns the parts that follow each other from the start of the run to its
// end without a break: the run is shorter only when one of them is. CriticalPath goes back from the
// end of the host that ended last; where that host waited for another one, it continues with
// the other one.
func (t *Timeline) CriticalPath() []Part {
	var last *Host
	for _, h := range t.Hosts {
		if last == nil || h.end() > last.end() {
			last = h
		}
	}
	if last == nil {
		return nil
	}
	w := &walker{t: t, at: t.Length, host: last, hosts: map[string]*Host{}, passed: map[*Wait]bool{}}
	for _, h := range t.Hosts {
		w.hosts[h.Name] = h
	}
	w.upTo(PathEnd, last.end())
	for w.at > 0 {
		w.back()
	}
	slices.Reverse(w.path)
	return w.path
}

// end returns the end of the last span or wait of the host.
func (h *Host) end() (end time.Duration) {
	if n := len(h.Spans); n > 0 {
		end = h.Spans[n-1].To
	}
	if n := len(h.Waits); n > 0 {
		end = max(end, h.Waits[n-1].To)
	}
	return max(end, h.Up)
}

// walker goes back along the critical path.
type walker struct {
	t      *Timeline
	hosts  map[string]*Host
	host   *Host
	at     time.Duration // the path from here to the end is known
	path   []Part        // the last part first
	passed map[*Wait]bool
	held   string // the host that waits for w.host at w.at
	heldBy string // the thing for which it waits
}

// add adds a part that begins at from, if it takes time.
func (w *walker) add(p Part, from time.Duration) {
	from = min(from, w.at)
	if from < w.at {
		p.Host, p.From, p.To, p.Held, p.For = w.host.Name, from, w.at, w.held, w.heldBy
		w.path = append(w.path, p)
		w.held, w.heldBy = "", ""
	}
	w.at = from
}

// upTo adds what was between the end of a span or wait and w.at.
func (w *walker) upTo(kind PathKind, to time.Duration) {
	if up := w.host.Up; kind == PathBetween && up > to && up < w.at { // also connected
		w.add(Part{Kind: PathBetween}, up)
		kind = PathConnect
	} else if kind == PathBetween && w.at <= up {
		kind = PathConnect
	}
	w.add(Part{Kind: kind}, to)
}

// back goes back by one span or wait of the host.
func (w *walker) back() {
	span, wait := w.lastSpan(), w.lastWait()
	switch {
	case span == nil && wait == nil:
		w.upTo(PathBetween, 0)
	case wait == nil || span != nil && span.To > wait.To:
		w.upTo(PathBetween, span.To)
		w.add(Part{Kind: PathStep, Step: span.Step}, span.From)
	default:
		w.passed[wait] = true
		w.upTo(PathBetween, wait.To)
		cause := w.hosts[wait.Cause]
		if cause == nil || cause == w.host {
			w.add(Part{Kind: PathWait, Wait: wait}, wait.From)
			return
		}
		w.held, w.heldBy, w.host = w.host.Name, wait.For, cause
	}
}

// lastSpan returns the last span that ended at w.at or before and took time; nil for none.
func (w *walker) lastSpan() *Span {
	spans := w.host.Spans
	for i := sort.Search(len(spans), func(i int) bool { return spans[i].To > w.at }) - 1; i >= 0; i-- {
		if spans[i].From < spans[i].To {
			return &spans[i]
		}
	}
	return nil
}

// lastWait returns the last wait that ended at w.at or before and was not passed yet; nil
// for none.
func (w *walker) lastWait() *Wait {
	all := w.host.Waits
	for i := sort.Search(len(all), func(i int) bool { return all[i].To > w.at }) - 1; i >= 0; i-- {
		if all[i].From < all[i].To && !w.passed[&all[i]] {
			return &all[i]
		}
	}
	return nil
}
