package tracker

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"deployer/engine"
	"deployer/engine/protocol"
	"deployer/engine/spread"
	"deployer/shortlist"
)

// stats count what moved in a run, in bytes.
type stats struct {
	fromController, fromPeers int64
	sizes                     map[string]int64  // by digest, of the blobs that a host has received
	declined                  map[string]string // hosts that did not take part, with their reasons
}

func newStats() stats { return stats{sizes: map[string]int64{}, declined: map[string]string{}} }

func (s *stats) add(source spread.Source, bytes int64) {
	if source.Peer != "" {
		s.fromPeers += bytes
	} else {
		s.fromController += bytes
	}
}

func (s *stats) complete(digest string, size int64) { s.sizes[digest] = size }

// describeOrigin returns the sources of a blob for people, the largest part first.
func describeOrigin(origin map[string]int) string {
	total := 0
	for _, n := range origin {
		total += n
	}
	names := slices.SortedFunc(maps.Keys(origin), func(a, b string) int {
		return cmp.Or(cmp.Compare(origin[b], origin[a]), cmp.Compare(a, b))
	})
	var parts []string
	for _, name := range names {
		part := cmp.Or(name, "the controller")
		if origin[name] < total {
			part += fmt.Sprintf(" (%d of %d chunks)", origin[name], total)
		}
		parts = append(parts, part)
	}
	return "from " + shortlist.Names(parts, 4)
}

// Close emits the summary of the run, if hosts have shared anything.
func (t *Tracker) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	var total int64
	for _, size := range t.stats.sizes {
		total += size
	}
	if total == 0 {
		return
	}
	text := fmt.Sprintf("%s, %d MiB: %d MiB from the controller, which are %.1f copies; %d MiB among hosts",
		shortlist.Count(len(t.stats.sizes), "large blob"), total>>20, t.stats.fromController>>20, float64(t.stats.fromController)/float64(total), t.stats.fromPeers>>20)
	if len(t.stats.declined) > 0 {
		text += fmt.Sprintf("; only from the controller: %s (%s)", shortlist.Names(slices.Sorted(maps.Keys(t.stats.declined)), 5), firstOf(t.stats.declined))
	}
	t.opts.Emit(engine.Event{Time: time.Now(), Type: engine.EventDistributed, Text: text})
}

func firstOf(reasons map[string]string) string { return reasons[slices.Sorted(maps.Keys(reasons))[0]] }

// noteFailure warns once about each source that other hosts ask no more, and about a failure that
// is more than a lost connection; t.mu is held.
func (t *Tracker) noteFailure(accuser string, r protocol.PlanReport) {
	why := spread.Failure(r.Why)
	switch why {
	case spread.Corrupt:
		if t.planner.Excluded()[r.Failed] != spread.Corrupt {
			break // the planner does not believe it
		}
		t.warnOnceLocked("corrupt "+r.Failed, r.Failed, fmt.Sprintf("the host sent %s a chunk with wrong content; other hosts no longer ask it", accuser))
	case spread.Unreachable:
		if t.planner.Excluded()[r.Failed] == spread.Unreachable {
			t.warnOnceLocked("unreachable "+r.Failed, r.Failed, fmt.Sprintf("other hosts cannot connect to port %d of this host, the last was %s: %s; it receives blobs, and serves none", t.opts.Port, accuser, r.Text))
		}
	}
	if t.planner.CutOff(accuser) {
		t.warnOnceLocked("cut off "+accuser, accuser, fmt.Sprintf("the host cannot connect to port %d of other hosts, the last was %s: %s; the controller sends its blobs", t.opts.Port, r.Failed, r.Text))
	}
}

// noteBlocked warns once when no host reaches another one; t.mu is held.
func (t *Tracker) noteBlocked() {
	if t.planner.Blocked() && !t.wasBlocked {
		t.wasBlocked = true
		t.warnLocked("", fmt.Sprintf("hosts do not reach each other on port %d: open it between them, or set distribution.peers: off; the controller sends all blobs", t.opts.Port))
	}
}

func (t *Tracker) warnOnce(key, host, text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.warnOnceLocked(key, host, text)
}

func (t *Tracker) warnOnceLocked(key, host, text string) {
	if !t.warned[key] {
		t.warned[key] = true
		t.warnLocked(host, text)
	}
}

// warnLocked emits a warning; t.mu is held.
func (t *Tracker) warnLocked(host, text string) {
	text = strings.TrimSpace(text)
	t.opts.Emit(engine.Event{Time: time.Now(), Type: engine.EventWarning, Host: host, Text: text})
}
