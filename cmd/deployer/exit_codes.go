package main

import (
	"errors"
	"fmt"

	"deployer/internal/docgen"
	"deployer/operations"
	"deployer/project"
	"deployer/runs"
)

// The exit codes; docs/reference/exit-codes.md is generated from this table.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitDiffers     = 2 // of commands with --detailed-exitcode
	exitPartial     = 3
	exitRefused     = 4
	exitUnhealthy   = 5
	exitRestored    = 6
	exitQuorumLost  = 7
	exitInterrupted = 130
)

var exitCodes = []docgen.ExitCode{
	{Code: exitOK, Meaning: "success"},
	{Code: exitFailed, Meaning: "the run failed: more hosts failed than the failure budget allows, or deployer had an error of its own"},
	{Code: exitUsage, Meaning: "unknown command or flag, or invalid input; no host was contacted. With --detailed-exitcode: the cluster differs from the inventory, or did; wrong input is 1 then"},
	{Code: exitPartial, Meaning: "the run completed without some hosts, within the failure budget, or a revert could not restore everything; the summary names the rest"},
	{Code: exitRefused, Meaning: "refused before any change: hosts failed the checks or were unreachable, another run holds their lock, or they differ from the plan"},
	{Code: exitUnhealthy, Meaning: "verify, status or diagnose found problems; install or apply has done its work, and problems remain that no run repairs"},
	{Code: exitRestored, Meaning: "a change failed on the first hosts of a rollout: what the rollout had changed on them is restored and passes its gates, and it changed no other hosts; the summary names changes of earlier steps, which stay. With --auto-rollback: an upgrade failed, and all hosts have their previous state again"},
	{Code: exitQuorumLost, Meaning: "etcd has lost its quorum, and nothing was changed: bring members back, or restore a backup with deployer etcd restore"},
	{Code: exitInterrupted, Meaning: "interrupted by the user; the same command continues where the run stopped"},
}

// exitOfEnd has the exit codes of operations.
var exitOfEnd = map[operations.End]int{
	operations.Failed: exitFailed, operations.Partial: exitPartial, operations.Refused: exitRefused,
	operations.Unhealthy: exitUnhealthy, operations.Restored: exitRestored, operations.QuorumLost: exitQuorumLost,
	operations.Interrupted: exitInterrupted,
}

// exitError is an error with its exit code. With a nil err the program prints nothing
// more.
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

// usageError gives an error of the user's input its exit code.
func usageError(err error) error { return &exitError{exitUsage, err} }

// exitSilently returns an exit code without a message.
func exitSilently(code int) error { return &exitError{code: code} }

// isSilent reports whether an error has an exit code only: what was printed before has the reason.
func isSilent(err error) bool {
	var e *exitError
	var ended *operations.Ended
	switch {
	case errors.As(err, &e):
		return e.err == nil
	case errors.As(err, &ended):
		return ended.Err == nil
	}
	return false
}

func exitCode(err error) int {
	var e *exitError
	var ended *operations.Ended
	var userError *project.UserError
	var refused *runs.RefusedError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &e):
		return e.code
	case errors.As(err, &ended):
		return exitOfEnd[ended.End]
	case errors.As(err, &userError):
		return exitUsage
	case errors.As(err, &refused):
		return exitRefused
	}
	return exitFailed
}
