package engine

import "time"

// Event is one thing that happened in a run. A single stream of events feeds all
// renderers, the journal and the JSON Lines output.
type Event struct {
	Time time.Time `json:"time"`           // when it happened, by the controller's clock
	Type EventType `json:"type"`           // what happened; see the types
	Host string    `json:"host,omitempty"` // where it happened; empty for events of the whole run
	Step string    `json:"step,omitempty"` // id of the step, the same in the next run of the playbook
	Name string    `json:"name,omitempty"` // name of the step, play or run; for transfer and received, the blob's SHA-256
	Role string    `json:"role,omitempty"` // role of the step
	Text string    `json:"text,omitempty"` // text for people; see the types
	// Result is set for step.end.
	Result *Result `json:"result,omitempty"`
	// Bytes is the part of a blob that was sent, for transfer, in compressed bytes.
	Bytes int64 `json:"bytes,omitempty"`
	Total int64 `json:"total,omitempty"` // size of the blob, compressed; absent when unknown
	// Report is set for run.end.
	Report *Report `json:"report,omitempty"`
}

// ActionOutput returns the output of an action that has ended; nil for other events. The output
// of a module is the word of one host, whatever hosts and keys it names.
func (e Event) ActionOutput() Output {
	if e.Type != EventStepEnd || e.Result == nil || !e.Result.OnController {
		return nil
	}
	return e.Result.Output
}

// EventType names what happened.
type EventType string

// The types of event.
const (
	EventRunStart    EventType = "run.start"   // the run starts; name is the playbook, text the run's id
	EventRunEnd      EventType = "run.end"     // the run has ended; report is set
	EventPlayStart   EventType = "play.start"  // the first host enters the play, or one of its batches; text names the batch
	EventHostUp      EventType = "host.up"     // the host is connected and its agent runs
	EventHostRetry   EventType = "host.retry"  // the connection failed; text is the reason and the time of the next attempt
	EventHostParked  EventType = "host.parked" // the host leaves the run; text is the root cause
	EventStepStart   EventType = "step.start"  // the step starts; omitted for most steps that take no time
	EventStepText    EventType = "step.text"   // text is the progress of a long step
	EventStepEnd     EventType = "step.end"    // the step has ended; result is set
	EventTransfer    EventType = "transfer"    // a part of a blob was sent to the host; bytes is set
	EventReceived    EventType = "received"    // the host has a whole blob, of which other hosts may have sent parts; text names the sources
	EventDistributed EventType = "distributed" // the sum of all blobs of the run that hosts could receive from each other, in text
	EventWait        EventType = "wait"        // the host waits; text is the reason, empty when the wait has ended
	EventInterrupted EventType = "interrupted" // the user stops the run; text is what happens now
	EventWarning     EventType = "warning"     // text is a warning
)

// Sink receives events. Implementations must be safe for concurrent use and
// must not block for long.
type Sink interface{ Emit(Event) }

// Report is the outcome of a run.
type Report struct {
	Run     string        `json:"run"`     // id of the run
	Elapsed time.Duration `json:"elapsed"` // from its start to its end
	Hosts   []HostReport  `json:"hosts"`   // all hosts of the run, in inventory order
	// Check is true for a run in check mode, which changes nothing.
	Check bool `json:"check,omitempty"`
	// Aborted is the reason why the run ended early; empty when it did not.
	Aborted string `json:"aborted,omitempty"`
	// Interrupted is true when the user stopped it.
	Interrupted bool `json:"interrupted,omitempty"`
	// LeftOpen lists temporary states that the run could not end, such as a cordoned
	// node, each with what to do about it.
	LeftOpen []string `json:"left,omitempty"`
	// Stays are the steps whose changes stay although the run did not complete: on all hosts
	// when it ended early, otherwise on those that failed. What a rollout has restored is left out.
	Stays []Stay `json:"stays,omitempty"`
	// Paused are the names of the rollouts that have paused after their canaries, in this
	// run or in the runs that it resumes. A run that resumes this one passes these pauses.
	Paused []string `json:"paused,omitempty"`
}

// HostReport counts what happened on one host.
type HostReport struct {
	Host    string `json:"host"`    // name of the host
	OK      int    `json:"ok"`      // steps that found the desired state
	Changed int    `json:"changed"` // steps that changed something; with --check, that would change something
	Skipped int    `json:"skipped"` // steps whose condition was false
	Failed  int    `json:"failed"`  // steps that failed, without those whose failure was ignored
	// Failure is the root cause for which the host left the run, if it did.
	Failure     *Failure `json:"failure,omitempty"`
	FailedStep  string   `json:"failed_step,omitempty"` // name of the step that failed
	Unreachable bool     `json:"unreachable,omitempty"` // no connection, or no new one after a loss
	Cancelled   bool     `json:"cancelled,omitempty"`   // stopped because of another host or the user
	// RunOnce is true when the failed step was a run_once step: the cause need not be
	// this host.
	RunOnce bool `json:"for_all,omitempty"`
	// Restored is set when the host failed in a rollout after a change.
	Restored *RestoreResult `json:"restored,omitempty"`
}

// Changed returns the number of changed steps on all hosts.
func (r *Report) Changed() int {
	n := 0
	for _, h := range r.Hosts {
		n += h.Changed
	}
	return n
}

// Broken returns the reports of the hosts that failed or were unreachable, the host of
// a failed run_once step included.
func (r *Report) Broken() []HostReport {
	var out []HostReport
	for _, h := range r.Hosts {
		if h.Failure != nil {
			out = append(out, h)
		}
	}
	return out
}
