// Package lock has the rules by which two runs never work on the same hosts at
// one time.
//
// A run that changes hosts locks all of them before it changes the first. The
// agent of its session holds the lock, so that it is given up when the agent
// ends: at the end of the run, or when the controller is lost and the step in
// flight is done. There is nothing stale that somebody would have to remove.
//
// Two runs that begin at one moment may each hold some of the hosts. The older
// one keeps what it has and waits for the rest; the younger one gives back what
// it has. So one of them goes on, and they never wait for each other.
package lock

import (
	"cmp"
	"fmt"
	"time"
)

// Holder is a run that holds the lock of a host.
type Holder struct {
	Run  string `json:"run"`
	Verb string `json:"verb"`
	// By is who started it and where: "ann@ci".
	By    string    `json:"by"`
	PID   int       `json:"pid,omitempty"` // on the controller
	Since time.Time `json:"since"`         // start of the run, by the controller's clock
	// Draining is set by the agent when its controller is gone: it holds the
	// lock only until the step in flight has ended.
	Draining bool `json:"leaving,omitempty"`
}

// startedBefore tells which of two runs began first. Equal times are told apart by the
// ids, so that any two controllers agree.
func (h Holder) startedBefore(other Holder) bool {
	return cmp.Or(h.Since.Compare(other.Since), cmp.Compare(h.Run, other.Run)) < 0
}

// String is the holder as messages name it.
func (h Holder) String() string {
	switch {
	case h.Run == "" && h.By == "":
		return "another run"
	case h.Run == "":
		return "another run by " + h.By
	}
	return fmt.Sprintf("run %s (%s) by %s", h.Run, h.Verb, h.By)
}

// Held says that another run holds the lock of a host.
type Held struct {
	Host string
	By   Holder
}

// Error names the holder and since when it runs.
func (e *Held) Error() string {
	text := fmt.Sprintf("%v holds the lock on %s", e.By, e.Host)
	if !e.By.Since.IsZero() {
		text += " since " + e.By.Since.UTC().Format("2006-01-02 15:04:05 MST")
	}
	if e.By.PID > 0 {
		text += fmt.Sprintf(", as process %d there", e.By.PID)
	}
	return text
}

// Grace is how long a run tries for a lock even when it was told not to wait:
// the other run may be one that is just giving up, or whose controller died a
// moment ago, which its agents have not noticed yet.
const Grace = 3 * time.Second

// DrainingLimit is how long a run waits for a holder that says that its controller
// is gone: a step in flight ends within its time limit, 1 h unless its task says
// more, and the word of a host is not a reason to wait for ever.
const DrainingLimit = 2 * time.Hour

// Decision is what a run does about a host that another run holds.
type Decision int

// The verdicts.
const (
	Wait    Decision = iota // keep what is held already, try again
	Release                 // give back what is held already, try again
	Refuse                  // give up
)

// Decide decides about a lock that another run holds, after having waited for
// it. A holder that is leaving is waited for until LeavingLimit, and so is an
// earlier connection of the run itself.
func Decide(mine, other Holder, waited, patience time.Duration) Decision {
	switch {
	case other.Draining, other.Run == mine.Run:
		if waited >= max(patience, DrainingLimit) {
			return Refuse
		}
		return Wait
	case waited >= max(patience, Grace):
		return Refuse
	case mine.startedBefore(other):
		return Wait
	}
	return Release
}
