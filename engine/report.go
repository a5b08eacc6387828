package engine

import "slices"

// Outcome says how a run ended as a whole.
type Outcome string

// The outcomes. Partial is a run that went on without some hosts; Stopped one
// that ended early, or that no host came through; Restored one that stopped because
// a change did no good in a rollout, and that has put back each host on which it
// did not.
const (
	OutcomeDone        Outcome = "done"
	OutcomePartial     Outcome = "partly done"
	OutcomeAborted     Outcome = "aborted"
	OutcomeRestored    Outcome = "stopped, and put back"
	OutcomeInterrupted Outcome = "interrupted"
)

// Outcome judges the report. A run that no host came through was stopped, also
// when the budget of its plays would have allowed that.
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

// restored reports whether every host that failed did so in a rollout and is as it
// was before.
func (r *Report) restored() bool {
	broken := r.Broken()
	return len(broken) > 0 && !slices.ContainsFunc(broken, func(h HostReport) bool { return h.Restored == nil || !h.Restored.Clean() })
}
