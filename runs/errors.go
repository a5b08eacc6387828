package runs

import (
	"deployer/engine/plan"
	"deployer/shortlist"
)

// RefusedError says why a run with valid input must not start: the run would do
// something that the user has not requested. Nothing was changed.
type RefusedError struct{ Err error }

// Error implements error.
func (r *RefusedError) Error() string { return r.Err.Error() }

// Unwrap returns the wrapped error.
func (r *RefusedError) Unwrap() error { return r.Err }

// DriftError lists files and hosts that differ from a plan. Nothing was changed.
type DriftError struct{ Drift []plan.Drift }

// Error implements error; the text has the first drift and the number of the others.
func (e *DriftError) Error() string {
	drift := make([]string, len(e.Drift))
	for i, d := range e.Drift {
		drift[i] = d.Subject + ": " + d.Difference
	}
	return "files or hosts differ from the plan: " + shortlist.Texts(drift, 1)
}
