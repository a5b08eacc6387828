package keeper

import (
	"maps"
	"strings"
	"time"
)

const (
	// noticeAgain is the time after which a notice that still holds is reported again.
	noticeAgain = time.Hour
	// noticeChanged is the time for which a notice is not reported again although its text has changed, such as
	// the pods that a drain waits for.
	noticeChanged = 5 * time.Minute
	// maxNotices is the number of notices that one pass reports; others are reported by later passes.
	maxNotices = 50
)

// notices are what the keeper has said of nodes in maintenance, by what they are about. What looks after these
// nodes says at each pass what still holds, of a thousand nodes.
type notices struct {
	of   map[string]notice
	left int // number that this pass may still report
}

type notice struct {
	logged   string // the last text in the journal
	reported string
	at       time.Time // when it was reported; zero while it was not
	seen     time.Time
}

// begin begins a pass. It forgets notices that nobody repeats.
func (n *notices) begin(now time.Time) {
	n.left = maxNotices
	if n.of == nil {
		n.of = map[string]notice{}
	}
	for about, one := range n.of {
		if now.Sub(one.seen) >= noticeAgain {
			delete(n.of, about)
		}
	}
}

// forget forgets notices whose names begin with a text.
func (n *notices) forget(prefix string) {
	maps.DeleteFunc(n.of, func(about string, _ notice) bool { return strings.HasPrefix(about, prefix) })
}

// see returns whether a notice is new for the journal, and whether it is to be reported.
func (n *notices) see(about, text string, now time.Time) (log, report bool) {
	one, known := n.of[about]
	log = !known || one.logged != text
	one.logged, one.seen = text, now
	wait := noticeChanged
	if one.reported == text {
		wait = noticeAgain
	}
	if report = n.left > 0 && (one.at.IsZero() || now.Sub(one.at) >= wait); report {
		one.reported, one.at = text, now
		n.left--
	}
	n.of[about] = one
	return log, report
}
