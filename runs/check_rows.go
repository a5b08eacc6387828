package runs

import (
	"slices"
	"sync"

	"deployer/engine"
	"deployer/tasks/control/report"
)

// CheckRows collects the rows in the outputs of checks. CheckRows is safe for concurrent use.
type CheckRows struct {
	mu   sync.Mutex
	rows []report.Row
}

// Emit implements engine.Sink.
func (s *CheckRows) Emit(e engine.Event) {
	if e.Type != engine.EventStepEnd || e.Result == nil {
		return
	}
	rows := report.Collect(e.Host, e.Result.Output)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rows = append(s.rows, rows...)
}

// All returns the rows in the order in which the checks ended.
func (s *CheckRows) All() []report.Row {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.rows)
}
