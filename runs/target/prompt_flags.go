package target

import (
	"errors"
	"fmt"

	"deployer/project"
)

// PromptFlags says which passwords of hosts are asked for.
type PromptFlags struct {
	Login  bool // the one to log in with, for hosts that have none in the inventory
	Become bool // the one to become root with, likewise
}

// Prompter asks whoever runs the program for a secret. Its error is a *NobodyError
// when there is nobody to ask.
type Prompter func(question string) (string, error)

// NotInteractiveError says why nobody can be asked.
type NotInteractiveError struct{ Why string }

// Error implements error.
func (e *NotInteractiveError) Error() string { return e.Why }

// promptError is the error of a question that was not answered.
func promptError(flag, instead string, err error) error {
	var nobody *NotInteractiveError
	if errors.As(err, &nobody) {
		return project.AsUserError(fmt.Errorf("%s: %w; %s in the inventory", flag, err, instead))
	}
	return err
}
