package timeline

import (
	"time"

	"deployer/engine"
)

// Timeline is a run as its hosts went through it.
type Timeline struct {
	Started time.Time
	// Length is the time from the start to the last event.
	Length time.Duration
	Hosts  []*Host
	// Steps are the steps of all hosts, in the order in which the first host came to them.
	Steps []*Step
}

// Host is one host in a run.
type Host struct {
	Name string
	// Up is the time at which the host was connected; 0 for a host that never was.
	Up time.Duration
	// Spans are the steps that took place, in the order of their ends; skipped steps have
	// none. Waits are in the order of their ends, too.
	Spans []Span
	Waits []Wait
	// Counts has the number of steps by outcome, skipped ones included.
	Counts map[Outcome]int
	// Parked is the reason for which the host left the run; empty when it did not.
	Parked string
	// Last is the time of the last event of the host.
	Last time.Duration
}

// Step is a step of the run, on all its hosts.
type Step struct {
	ID, Name, Role string
	Hosts          int // that executed the step
	Counts         map[Outcome]int
	Total, Longest time.Duration // over all hosts, and on Slowest
	Slowest        string        // the host that took longest
}

// Title returns the name of the step with its role.
func (s *Step) Title() string {
	if s.Role == "" {
		return s.Name
	}
	return s.Role + ": " + s.Name
}

// Span is the execution of a step on a host.
type Span struct {
	Step     int // index into Timeline.Steps
	From, To time.Duration
	Outcome  Outcome
	Delegate string // the host that executed the step instead; empty for the host itself
}

// Wait is a time in which a host waited.
type Wait struct {
	Reason
	From, To time.Duration
	// Cause is the host whose progress ended the wait; empty when it is not known or no
	// host caused the wait.
	Cause string
}

// Outcome is the outcome of a step on a host: the status of its result, or one of the
// following.
type Outcome string

// Outcomes beside the statuses of results.
const (
	Ignored Outcome = "ignored" // the step failed and has ignore_errors
	Open    Outcome = "open"    // the step has begun and not ended: the run is in progress or was killed
)

// Outcomes lists all outcomes, the worst first.
func Outcomes() []Outcome {
	return []Outcome{Outcome(engine.StatusFailed), Outcome(engine.StatusUnreachable), Outcome(engine.StatusCancelled), Ignored, Open,
		Outcome(engine.StatusChanged), Outcome(engine.StatusOK), Outcome(engine.StatusSkipped)}
}

func outcomeOf(r *engine.Result) Outcome {
	if r.Ignored {
		return Ignored
	}
	return Outcome(r.Status)
}

// Broken reports whether the host failed or was lost.
func (h *Host) Broken() bool {
	return h.Parked != "" || h.Counts[Outcome(engine.StatusFailed)] > 0 || h.Counts[Outcome(engine.StatusUnreachable)] > 0
}

// Waited returns the time in which the host waited.
func (h *Host) Waited() (sum time.Duration) {
	for _, w := range h.Waits {
		sum += w.To - w.From
	}
	return sum
}

// Host returns the host of a name; nil for none.
func (t *Timeline) Host(name string) *Host {
	for _, h := range t.Hosts {
		if h.Name == name {
			return h
		}
	}
	return nil
}
