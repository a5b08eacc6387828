package agent

import (
	"slices"

	"deployer/engine"
)

var _ engine.Interruptions = (*system)(nil)

// Interrupted implements engine.Interruptions by the journals on the host. Attempts
// of this agent in the same step have ended and do not count.
func (s *system) Interrupted() (string, error) {
	if s.step.applied != nil {
		return "", nil
	}
	for _, run := range slices.Concat([]string{s.step.run}, s.step.resumes) {
		entries, _, err := s.step.server.state.JournalEntries(run)
		if err != nil {
			return "", err
		}
		switch begun, interrupted := lastTry(entries, s.step.step.ID); {
		case interrupted:
			return run, nil
		case begun: // and ended, after all earlier runs
			return "", nil
		}
	}
	return "", nil
}

// lastTry reports whether a step was ever begun, and whether its last attempt was
// interrupted: the journal has no end of it, or says that it was cancelled.
func lastTry(entries []engine.JournalEntry, step string) (begun, interrupted bool) {
	for _, e := range entries {
		switch {
		case e.Step != step:
		case e.Begun:
			begun, interrupted = true, true
		case e.Status == engine.StatusCancelled: // the attempt was stopped before its end
		default:
			begun, interrupted = begun || e.Status == engine.StatusOK, false
		}
	}
	return begun, interrupted
}
