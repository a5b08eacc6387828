package operations

import (
	"errors"

	"deployer/engine"
)

// End says how an operation ended.
type End int

const (
	// Failed means that more hosts failed than the failure budget allows.
	Failed End = iota
	// Partial means complete without some hosts, or a revert could not restore everything.
	Partial
	// Refused means before any change.
	Refused
	// Unhealthy means that the work is done, and problems remain that no run repairs.
	Unhealthy
	// Restored means that a change failed on the first hosts, which have their previous state again.
	Restored
	// QuorumLost means that etcd has lost its quorum, and nothing was changed.
	QuorumLost
	// Interrupted means by the caller.
	Interrupted
)

// Ended is the error of an operation that ended other than with success.
type Ended struct {
	End End
	// Err is the reason; nil when a result that the caller was shown has it.
	Err error
}

// Error implements error.
func (e *Ended) Error() string {
	if e.Err == nil {
		return "the operation ended; the results before say how"
	}
	return e.Err.Error()
}

// Unwrap returns the reason.
func (e *Ended) Unwrap() error { return e.Err }

// EndedAs reports whether an error says that an operation ended in this way.
func EndedAs(err error, end End) bool {
	var e *Ended
	return errors.As(err, &e) && e.End == end
}

func ended(end End) error { return &Ended{End: end} }

// Outcome returns the error of a run with this report; nil for success.
func Outcome(report *engine.Report) error {
	switch report.Outcome() {
	case engine.OutcomeInterrupted:
		return ended(Interrupted)
	case engine.OutcomeAborted:
		if report.Check || report.Changed() == 0 {
			return ended(Refused)
		}
		return ended(Failed)
	case engine.OutcomeRestored:
		return ended(Restored)
	case engine.OutcomePartial:
		return ended(Partial)
	}
	return nil
}

// first returns the first error: that of a run's log or connections before the outcome of the
// run.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
