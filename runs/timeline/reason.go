package timeline

import (
	"strconv"
	"strings"
)

// Kind is the kind of a wait.
type Kind string

// The kinds of wait.
const (
	Barrier  Kind = "barrier"  // for all live hosts of the play
	Label    Kind = "label"    // needs: for hosts to pass a label
	RunOnce  Kind = "run_once" // for the host that executes a step for all
	Rollout  Kind = "rollout"  // for a turn in a rollout
	Throttle Kind = "throttle" // for a turn in a task or block
	Batch    Kind = "serial"   // for the batches before that of the host
	Soak     Kind = "soak"     // for the end of the soak time of a canary
	RunLock  Kind = "lock"     // for the run lock, which another run holds
	Other    Kind = "other"
)

// Reason is the reason of a wait.
type Reason struct {
	Kind Kind
	// For is the object of the wait, the same text on all hosts that wait for the same thing.
	For string

	hosts []string // that were missing when the wait began
	all   bool     // hosts has all of them
}

// The texts of the scheduler: "label" and the like stand before a quoted name, and behind
// that comes a list of hosts.
var syncPoints = []struct {
	prefix string
	kind   Kind
}{
	{"the barrier in play ", Barrier},
	{"label ", Label},
	{"the end of play ", Batch},
}

// ParseReason returns the reason that the text of a wait event gives.
func ParseReason(text string) Reason {
	for _, p := range syncPoints {
		rest, ok := strings.CutPrefix(text, p.prefix)
		if name, err := strconv.QuotedPrefix(rest); ok && err == nil {
			hosts, all := splitHosts(strings.TrimPrefix(rest[len(name):], ": "))
			return Reason{Kind: p.kind, For: p.prefix + name, hosts: hosts, all: all}
		}
	}
	if name, err := strconv.QuotedPrefix(text); err == nil {
		rest, which := strings.CutPrefix(text[len(name):], ", which ")
		if host, ok := strings.CutSuffix(rest, " does for all"); which && ok {
			return Reason{Kind: RunOnce, For: name, hosts: []string{host}, all: true}
		}
	}
	turn, limited := text, strings.HasSuffix(text, " at a time)")
	if i := strings.LastIndex(text, " ("); limited && i > 0 {
		turn = text[:i]
	}
	switch {
	case limited && strings.HasPrefix(text, "its turn in the rollout of "):
		return Reason{Kind: Rollout, For: turn}
	case limited && strings.HasPrefix(text, "its turn in "):
		return Reason{Kind: Throttle, For: turn}
	case strings.HasPrefix(text, "the end of the soak time of "):
		return Reason{Kind: Soak, For: text}
	case strings.HasPrefix(text, "for the lock: "):
		return Reason{Kind: RunLock, For: text}
	}
	return Reason{Kind: Other, For: text}
}

// splitHosts reads the text of shortlist.Names, such as "a, b and 3 more"; all is false when
// hosts are not named.
func splitHosts(text string) (hosts []string, all bool) {
	if text == "" {
		return nil, false
	}
	all = true
	if rest, ok := strings.CutSuffix(text, " more"); ok {
		if i := strings.LastIndex(rest, " and "); i > 0 {
			text, all = rest[:i], false
		}
	}
	return strings.Split(text, ", "), all
}
