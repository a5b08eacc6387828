package engine

import "time"

// Event is one thing that happened in a run. The one stream of events feeds
// every renderer, the journal and the JSON Lines output.
type Event struct {
	Time time.Time `json:"time"`           // when it happened, by the controller's clock
	Type EventType `json:"type"`           // what happened; see the types
	Host string    `json:"host,omitempty"` // that it happened on; empty for what concerns the run
	Step string    `json:"step,omitempty"` // id of the step, the same in the next run of the same playbook
	Name string    `json:"name,omitempty"` // of the step, play or run; of a transfer the blob's SHA-256
	Role string    `json:"role,omitempty"` // that the step stands in
	Text string    `json:"text,omitempty"` // for people; what it says depends on the type
	// Result is set for step.end.
	Result *Result `json:"result,omitempty"`
	// Bytes is how much of a blob was sent so far, for transfer; compressed.
	Bytes int64 `json:"bytes,omitempty"`
	Total int64 `json:"total,omitempty"` // how much there is to send; absent when unknown
	// Report is set for run.end.
	Report *Report `json:"report,omitempty"`
}

// EventType names what happened.
type EventType string

// The types of event.
const (
	EventRunStart    EventType = "run.start"   // the run begins; name is its playbook, text its id
	EventRunEnd      EventType = "run.end"     // the run is over; report says how
	EventPlayStart   EventType = "play.start"  // the first host entered the play, or one of its batches, which text names
	EventHostUp      EventType = "host.up"     // the host is connected and its agent runs
	EventHostRetry   EventType = "host.retry"  // the host was lost or not reached; text says why, and when it is tried again
	EventHostParked  EventType = "host.parked" // the host is taken out of the run; text is the root cause
	EventStepStart   EventType = "step.start"  // the step has begun; left out for most that are over at once
	EventStepText    EventType = "step.text"   // text says what a long step is doing
	EventStepEnd     EventType = "step.end"    // the step is over; result says how
	EventTransfer    EventType = "transfer"    // a part of a blob went to the host; bytes says how much of it so far
	EventWait        EventType = "wait"        // the host waits for what text says; without text it waits no more
	EventInterrupted EventType = "interrupted" // the user asked to stop; text says what happens now
	EventWarning     EventType = "warning"     // text says what somebody should know
)

// Sink receives events. Implementations must be safe for concurrent use and
// must not block for long.
type Sink interface{ Emit(Event) }

// Report is the outcome of a run.
type Report struct {
	Run     string        `json:"run"`     // id of the run
	Elapsed time.Duration `json:"elapsed"` // from its start to its end
	Hosts   []HostReport  `json:"hosts"`   // all hosts of the run, in inventory order
	// Check is true when the run only found out what would change.
	Check bool `json:"check,omitempty"`
	// Aborted says why the run stopped early; empty when it did not.
	Aborted string `json:"aborted,omitempty"`
	// Interrupted is true when the user stopped it.
	Interrupted bool `json:"interrupted,omitempty"`
	// LeftOpen is what the run has opened and could not close again, with what to do
	// about it: a node that takes no pods.
	LeftOpen []string `json:"left,omitempty"`
}

// HostReport counts what happened on one host.
type HostReport struct {
	Host    string `json:"host"`    // its name
	OK      int    `json:"ok"`      // steps that found everything as wanted
	Changed int    `json:"changed"` // steps that changed something; with --check, that would
	Skipped int    `json:"skipped"` // steps whose condition did not hold
	Failed  int    `json:"failed"`  // steps that failed, those whose failure was ignored apart
	// Failure is the root cause that took the host out of the run, if any.
	Failure     *Failure `json:"failure,omitempty"`
	FailedStep  string   `json:"failed_step,omitempty"` // name of the step that failed
	Unreachable bool     `json:"unreachable,omitempty"` // it could not be reached, or not again
	Cancelled   bool     `json:"cancelled,omitempty"`   // it was stopped by what happened elsewhere
	// RunOnce is true when the step that failed was one that this host did for
	// all (run_once): what went wrong need not be wrong with this host.
	RunOnce bool `json:"for_all,omitempty"`
	// Restored is set when the host failed in a rollout after it was changed.
	Restored *RestoreResult `json:"restored,omitempty"`
}

// Changed is the number of changed steps on all hosts.
func (r *Report) Changed() int {
	n := 0
	for _, h := range r.Hosts {
		n += h.Changed
	}
	return n
}

// Broken returns the reports of hosts that failed or were unreachable, and of
// one on which a step failed that it did for all.
func (r *Report) Broken() []HostReport {
	var out []HostReport
	for _, h := range r.Hosts {
		if h.Failure != nil {
			out = append(out, h)
		}
	}
	return out
}
