package main

import "deployer/engine"

// exitOutcome returns the exit code of a run; nil for success.
func exitOutcome(report *engine.Report) error {
	switch report.Outcome() {
	case engine.OutcomeInterrupted:
		return exitSilently(exitInterrupted)
	case engine.OutcomeAborted:
		if report.Check || report.Changed() == 0 {
			return exitSilently(exitRefused)
		}
		return exitSilently(exitFailed)
	case engine.OutcomeRestored:
		return exitSilently(exitRestored)
	case engine.OutcomePartial:
		return exitSilently(exitPartial)
	}
	return nil
}
