package runs

import (
	"slices"
	"sync"

	"deployer/engine"
	"deployer/tasks/control/report"
)

// CheckRows collects the rows in the outputs of checks. It is safe for concurrent use.
type CheckRows struct {
	// Roles are the roles whose checks are collected; empty for all.
	Roles []string

	mu   sync.Mutex
	rows []report.Row
}

// Emit implements engine.Sink.
func (s *CheckRows) Emit(e engine.Event) {
	if len(s.Roles) > 0 && !slices.Contains(s.Roles, e.Role) {
		return
	}
	rows := report.OfStep(e)
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
