package pipeline

import (
	"errors"
	"strings"

	"deployer/ci/gate"
	"deployer/ci/report"
	"deployer/engine/sanitize"
)

// refusedError says that a gate holds the run back.
type refusedError struct{ findings []gate.Finding }

// Error returns the findings, each on a line.
func (e *refusedError) Error() string {
	lines := make([]string, len(e.findings))
	for i, f := range e.findings {
		lines[i] = sanitize.Line(f.String()) // names of a revision may have ends of lines
	}
	return strings.Join(lines, "\n")
}

// rolledBackError says that clusters have their former revision again.
type rolledBackError struct{ err error }

func (e *rolledBackError) Error() string { return e.err.Error() }
func (e *rolledBackError) Unwrap() error { return e.err }

// outcomeOf returns the outcome of a stage or a cluster that ended with an error.
func outcomeOf(err error) report.Outcome {
	var refused *refusedError
	var back *rolledBackError
	switch {
	case errors.As(err, &refused):
		return report.Refused
	case errors.As(err, &back):
		return report.RolledBack
	}
	return report.Failed
}

// finish computes the outcome of the run.
func (r *run) finish() {
	r.out.Flush()
	r.record.Seconds = r.Now().Sub(r.record.Started).Seconds()
	r.record.Outcome = report.Nothing
	for _, t := range r.targets {
		if t.Outcome == "" {
			t.Outcome = report.Nothing
			if !t.Change.Nothing() {
				t.Outcome = report.Skipped
			}
		}
		if t.Outcome == report.Deployed {
			r.record.Outcome = report.Deployed
		}
	}
	if worst := r.worst(); worst != "" {
		r.record.Outcome = worst
	}
}
