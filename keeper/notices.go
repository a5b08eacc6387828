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

// notices are the reports about nodes in maintenance, by their subjects. The controllers of these nodes repeat at
// each pass the ones that still hold, for a thousand nodes.
type notices struct {
	of   map[string]notice // by subject: node, profile, action and instance
	left int               // number that this pass may still report
}

type notice struct {
	logged   string // the last text in the journal
	reported string
	at       time.Time // when it was reported; zero while it was not
	seen     time.Time
}

// begin begins a pass. It forgets notices that no pass of the last hour has repeated.
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

// forget forgets the notices whose subjects begin with a text.
func (n *notices) forget(prefix string) {
	maps.DeleteFunc(n.of, func(about string, _ notice) bool { return strings.HasPrefix(about, prefix) })
}

// see reports whether a notice is new for the journal, and whether the keeper reports it now.
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
