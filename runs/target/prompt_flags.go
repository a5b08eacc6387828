package target

import (
	"errors"
	"fmt"

	"deployer/project"
)

// PromptFlags select the passwords that are prompted for.
type PromptFlags struct {
	Login  bool // SSH login password, for hosts without one in the inventory
	Become bool // privilege-escalation password, for hosts without one in the inventory
}

// Prompter prints a question and returns the answer of the user. Its error is a
// *NotInteractiveError when the program has no terminal.
type Prompter func(question string) (string, error)

// NotInteractiveError says why the program cannot prompt.
type NotInteractiveError struct{ Why string }

// Error implements error.
func (e *NotInteractiveError) Error() string { return e.Why }

// promptError returns a *project.UserError, with the setting to use instead of the flag,
// when the program cannot prompt; else err.
func promptError(flag, instead string, err error) error {
	var notInteractive *NotInteractiveError
	if errors.As(err, &notInteractive) {
		return project.AsUserError(fmt.Errorf("%s: %w; %s in the inventory", flag, err, instead))
	}
	return err
}
