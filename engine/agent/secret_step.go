package agent

import (
	"errors"
	"fmt"
	"syscall"

	"deployer/engine"
)

// agentError is an error with a text of the agent itself. agentError has no text of a
// module, of a program or of the step's arguments, so a secret step may show it.
type agentError struct{ error }

// Unwrap returns the wrapped error.
func (e *agentError) Unwrap() error { return e.error }

// withhold replaces the error of a secret step, whose text may contain secrets in
// command lines or in the output of programs. The replacement has the module, the
// exit code of the failed program, and the system's name of the error.
func (r *stepRun) withhold(err error) error {
	if err == nil {
		return nil
	}
	const advice = "; the step is secret, so details are withheld: see the logs on the host"
	var own *agentError
	var bug *panicError
	var program *engine.Failure
	var system syscall.Errno
	switch {
	case errors.As(err, &own):
		return own.error
	case errors.As(err, &bug):
		return fmt.Errorf("%s panicked, which is a bug of deployer%s", r.step.Module, advice)
	case errors.As(err, &program) && program.Exit != 0:
		return fmt.Errorf("%s failed with exit code %d%s", r.step.Module, program.Exit, advice)
	case errors.As(err, &system):
		return fmt.Errorf("%s failed: %w%s", r.step.Module, system, advice)
	}
	return fmt.Errorf("%s failed; the step is secret, so the reason is withheld: see the logs on the host", r.step.Module)
}
