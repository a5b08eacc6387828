package engine

import "fmt"

// RestoreResult says what became of a host that a rollout had changed and that failed.
type RestoreResult struct {
	// Steps is the number of steps that put something back.
	Steps int `json:"steps"`
	// Failure says why the host is not as it was before; empty when everything is
	// back and the host has passed the checks of the rollout again.
	Failure string `json:"failure,omitempty"`
}

// Clean reports whether the host is as it was before.
func (r *RestoreResult) Clean() bool { return r.Failure == "" }

// String says so for people.
func (r *RestoreResult) String() string {
	switch {
	case !r.Clean():
		return "it is not as it was before: " + r.Failure
	case r.Steps == 0:
		return "nothing was changed on it"
	}
	steps := "steps"
	if r.Steps == 1 {
		steps = "step"
	}
	return fmt.Sprintf("it was put back (%d %s) and passes its checks again", r.Steps, steps)
}
