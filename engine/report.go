package engine

import "slices"

// Outcome is the result of a run as a whole.
type Outcome string

// The outcomes of a run.
const (
	OutcomeDone        Outcome = "done"              // all hosts completed
	OutcomePartial     Outcome = "partly done"       // some hosts failed, within the failure budget
	OutcomeAborted     Outcome = "aborted"           // the run ended early, or no host completed
	OutcomeRestored    Outcome = "aborted, restored" // a rollout failed, and every host that failed was restored
	OutcomeInterrupted Outcome = "interrupted"       // by the user
)

// Outcome returns the outcome of the run. A run that no host completed is aborted, even
// if the failure budget of its plays allows that.
func (r *Report) Outcome() Outcome {
	broken := len(r.Broken())
	switch {
	case r.Interrupted:
		return OutcomeInterrupted
	case r.Aborted != "" && r.restored():
		return OutcomeRestored
	case r.Aborted != "", broken > 0 && broken == len(r.Hosts):
		return OutcomeAborted
	case broken > 0:
		return OutcomePartial
	}
	return OutcomeDone
}

// restored reports whether every host that failed did so in a rollout and was restored.
func (r *Report) restored() bool {
	broken := r.Broken()
	return len(broken) > 0 && !slices.ContainsFunc(broken, func(h HostReport) bool { return h.Restored == nil || !h.Restored.Clean() })
}
