package main

import (
	"errors"
	"fmt"

	"deployer/project"
	"deployer/runs"
)

// The exit codes; docs/reference/exit-codes.md is generated from this table.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitPartial     = 3
	exitRefused     = 4
	exitUnhealthy   = 5
	exitRestored    = 6
	exitInterrupted = 130
)

var exitCodes = []struct {
	code    int
	meaning string
}{
	{exitOK, "everything is as wanted"},
	{exitFailed, "the run failed: more hosts failed than the budget allows, or deployer could not go on"},
	{exitUsage, "unknown command or flag, or invalid input; nothing was contacted"},
	{exitPartial, "the run is done, but some hosts, within the budget, were left out, or, of a revert, something could not be put back; the summary names them"},
	{exitRefused, "refused before any change: hosts did not pass the checks or could not be reached, another run holds them, or they are not what the plan was made for"},
	{exitUnhealthy, "verify found something that is not healthy"},
	{exitRestored, "a change did no good on the first hosts that it reached in a rollout: it was put back there, they pass their checks again, and the other hosts were left as they are"},
	{exitInterrupted, "interrupted by the user; the same command goes on where it stopped"},
}

// exitError is an error that knows its exit code. A nil Err ends silently:
// everything has been said.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// usageError marks err as the user's input being wrong.
func usageError(err error) error { return &exitError{exitUsage, err} }

// silent ends with a code after everything has been printed.
func silent(code int) error { return &exitError{code: code} }

func exitCode(err error) int {
	var e *exitError
	var userError *project.UserError
	var refused *runs.RefusedError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &e):
		return e.code
	case errors.As(err, &userError):
		return exitUsage
	case errors.As(err, &refused):
		return exitRefused
	}
	return exitFailed
}
