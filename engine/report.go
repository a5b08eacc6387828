package engine

// Outcome says how a run ended as a whole.
type Outcome string

// The outcomes. Partial is a run that went on without some hosts; Stopped one
// that ended early, or that no host came through.
const (
	RunDone        Outcome = "done"
	RunPartial     Outcome = "partly done"
	RunStopped     Outcome = "aborted"
	RunInterrupted Outcome = "interrupted"
)

// Outcome judges the report. A run that no host came through was stopped, also
// when the budget of its plays would have allowed that.
func (r *Report) Outcome() Outcome {
	broken := len(r.Broken())
	switch {
	case r.Interrupted:
		return RunInterrupted
	case r.Aborted != "", broken > 0 && broken == len(r.Hosts):
		return RunStopped
	case broken > 0:
		return RunPartial
	}
	return RunDone
}
