package runs

import (
	"fmt"

	"deployer/engine/plan"
)

// RefusedError is why nothing was done though all that was given is right: going on
// would do what nobody has asked for.
type RefusedError struct{ Err error }

// Error implements error.
func (r *RefusedError) Error() string { return r.Err.Error() }

// Unwrap gives the error that it is.
func (r *RefusedError) Unwrap() error { return r.Err }

// DriftError says that files or hosts are not what a plan was made for. Nothing
// was changed.
type DriftError struct{ Drift []plan.Drift }

// Error implements error; it tells of the first drift only.
func (e *DriftError) Error() string {
	text := "this is not what the plan was made for"
	if len(e.Drift) > 0 {
		text += fmt.Sprintf(": %s: %s", e.Drift[0].Subject, e.Drift[0].Difference)
	}
	if more := len(e.Drift) - 1; more > 0 {
		text += fmt.Sprintf(", and %d more", more)
	}
	return text
}
