package runs

import (
	"fmt"

	"deployer/engine/plan"
)

// RefusedError says why a run with valid input must not start: it would do something
// that the user has not asked for. Nothing was changed.
type RefusedError struct{ Err error }

// Error implements error.
func (r *RefusedError) Error() string { return r.Err.Error() }

// Unwrap returns the wrapped error.
func (r *RefusedError) Unwrap() error { return r.Err }

// DriftError lists files and hosts that differ from a plan. Nothing was changed.
type DriftError struct{ Drift []plan.Drift }

// Error implements error; the text has only the first drift.
func (e *DriftError) Error() string {
	text := "files or hosts differ from the plan"
	if len(e.Drift) > 0 {
		text += fmt.Sprintf(": %s: %s", e.Drift[0].Subject, e.Drift[0].Difference)
	}
	if more := len(e.Drift) - 1; more > 0 {
		text += fmt.Sprintf(", and %d more", more)
	}
	return text
}
