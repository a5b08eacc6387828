package main

import "deployer/engine"

// outcome chooses the exit code of a run.
func outcome(report *engine.Report) error {
	switch report.Outcome() {
	case engine.RunInterrupted:
		return silent(exitInterrupted)
	case engine.RunStopped:
		if report.Check || report.Changed() == 0 {
			return silent(exitRefused)
		}
		return silent(exitFailed)
	case engine.RunRestored:
		return silent(exitRestored)
	case engine.RunPartial:
		return silent(exitPartial)
	}
	return nil
}
