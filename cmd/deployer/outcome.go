package main

import "deployer/engine"

// outcome chooses the exit code of a run.
func outcome(report *engine.Report) error {
	switch report.Outcome() {
	case engine.OutcomeInterrupted:
		return silent(exitInterrupted)
	case engine.OutcomeAborted:
		if report.Check || report.Changed() == 0 {
			return silent(exitRefused)
		}
		return silent(exitFailed)
	case engine.OutcomeRestored:
		return silent(exitRestored)
	case engine.OutcomePartial:
		return silent(exitPartial)
	}
	return nil
}
