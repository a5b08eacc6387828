package engine

import "fmt"

// RestoreResult is the outcome of restoring a host that failed in a rollout after it
// was changed.
type RestoreResult struct {
	// Steps is the number of steps that restored something.
	Steps int `json:"steps"`
	// Failure is the reason why the host is not in its previous state; empty when
	// everything was restored and the host passed the checks of the rollout again.
	Failure string `json:"failure,omitempty"`
	// NotBegun is true when pre_tasks failed: nothing of the rollout's block was executed.
	NotBegun bool `json:"not_begun,omitempty"`
	// ByHost is true when the host had lost the controller and has restored itself.
	ByHost bool `json:"by_host,omitempty"`
}

// Clean reports whether the host is in its previous state.
func (r *RestoreResult) Clean() bool { return r.Failure == "" }

// String describes the outcome for people.
func (r *RestoreResult) String() string {
	switch {
	case !r.Clean():
		return "it is not in its previous state: " + r.Failure
	case r.NotBegun:
		return "its change was not begun"
	case r.ByHost && r.Steps == 0:
		return "it has restored itself and passes its checks again"
	case r.Steps == 0:
		return "nothing was changed on it"
	}
	steps := "steps"
	if r.Steps == 1 {
		steps = "step"
	}
	return fmt.Sprintf("it was restored (%d %s) and passes its checks again", r.Steps, steps)
}
