package agent

import (
	"errors"
	"fmt"
	"syscall"

	"deployer/engine"
)

// agentError is an error in the agent's own words: no text of a module, of a program
// or of the step's arguments is in it, so a secret step may show it.
type agentError struct{ error }

// Unwrap returns the error in the words that it has.
func (e *agentError) Unwrap() error { return e.error }

// withhold replaces the error of a secret step. The command line and the words of
// programs may hold what must not leave the host, and nobody can tell which of them
// do. What remains is the module, the exit code of the program that failed, and
// the system's name for the error.
func (r *stepRun) withhold(err error) error {
	if err == nil {
		return nil
	}
	const advice = "; more is not shown because the step is secret: look on the host"
	var own *agentError
	var bug *panicError
	var program *engine.Failure
	var system syscall.Errno
	switch {
	case errors.As(err, &own):
		return own.error
	case errors.As(err, &bug):
		return fmt.Errorf("%s failed in a way that is a bug of deployer%s", r.step.Module, advice)
	case errors.As(err, &program) && program.Exit != 0:
		return fmt.Errorf("%s failed with exit code %d%s", r.step.Module, program.Exit, advice)
	case errors.As(err, &system):
		return fmt.Errorf("%s failed: %w%s", r.step.Module, system, advice)
	}
	return fmt.Errorf("%s failed: the reason is not shown because the step is secret: look on the host", r.step.Module)
}

// withheldEffects are the effects of a secret step as they may leave the host:
// without diffs, and for anything but a file without the values in their action. A
// command is named by its module.
func (r *stepRun) withheldEffects(effects []engine.Effect) []engine.Effect {
	out := make([]engine.Effect, len(effects))
	for i, e := range effects {
		e.Diff, e.Secret = "", true
		switch e.Kind {
		case engine.EffectCommand:
			e.Target, e.Action = r.step.Module, "run"
		case engine.EffectKernel:
			e.Action = "set"
		}
		out[i] = e
	}
	return out
}
