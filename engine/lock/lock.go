// Package lock has the rules of the run lock, by which two runs never change the
// same hosts at one time. The package has no state and contacts no host.
//
// A run that changes hosts locks all of them before it changes the first. The agent
// of its session holds the lock, so the lock is released when the agent ends: at the
// end of the run, or, after the controller is lost, when the step in flight has
// ended. There are no stale locks that an operator would have to remove.
//
// Two runs that begin at one moment may each hold some of the hosts. The older run
// keeps its locks and waits for the rest; the younger one releases its locks and
// tries again. So one of them proceeds, and there is no deadlock.
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
	// By is the user and the machine that started the run: "ann@ci".
	By    string    `json:"by"`
	PID   int       `json:"pid,omitempty"` // on the controller
	Since time.Time `json:"since"`         // start of the run, by the controller's clock
	// Draining is set by the agent when its controller is gone: it holds the lock
	// only until the step in flight has ended.
	Draining bool `json:"leaving,omitempty"`
}

// startedBefore reports whether h started before the other run. Equal times are
// ordered by run id, so that any two controllers agree.
func (h Holder) startedBefore(other Holder) bool {
	return cmp.Or(h.Since.Compare(other.Since), cmp.Compare(h.Run, other.Run)) < 0
}

// String returns the holder's name in messages.
func (h Holder) String() string {
	switch {
	case h.Run == "" && h.By == "":
		return "another run"
	case h.Run == "":
		return "another run by " + h.By
	}
	return fmt.Sprintf("run %s (%s) by %s", h.Run, h.Verb, h.By)
}

// Held is the error when another run holds the lock of a host.
type Held struct {
	Host string
	By   Holder
}

// Error names the host, the holder, and the start of its run.
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

// Grace is the time for which a run tries to get a lock even when it must not wait: the other
// run may be releasing its locks, or its controller may have died just now, before its agents
// have detected the loss.
const Grace = 3 * time.Second

// DrainingLimit is the time for which a run waits for a holder that is draining. A
// step in flight ends within its time limit, 1 h unless its task sets another; a host
// that reports that it is draining must not make others wait forever.
const DrainingLimit = 2 * time.Hour

// Decision is the reaction of a run to a lock that another run holds.
type Decision int

// The decisions.
const (
	Wait    Decision = iota // keep the locks held so far and try again
	Release                 // release the locks held so far and try again
	Refuse                  // give up with a *Held
)

// Decide returns what to do about a lock of another run, after having waited for it.
// patience returns the time for which the run may wait. A draining holder is waited for until
// DrainingLimit, and so is an earlier connection of the run itself.
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
