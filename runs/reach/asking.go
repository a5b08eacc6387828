package reach

import (
	"errors"
	"fmt"

	"deployer/project"
)

// Asking says which passwords of hosts are asked for.
type Asking struct {
	Login  bool // the one to log in with, for hosts that have none in the inventory
	Become bool // the one to become root with, likewise
}

// Asker asks whoever runs the program for a secret. Its error is a *NobodyError
// when there is nobody to ask.
type Asker func(question string) (string, error)

// NobodyError says why nobody can be asked.
type NobodyError struct{ Why string }

// Error implements error.
func (e *NobodyError) Error() string { return e.Why }

// unanswered is the error of a question that was not answered.
func unanswered(flag, instead string, err error) error {
	var nobody *NobodyError
	if errors.As(err, &nobody) {
		return project.Mistaken(fmt.Errorf("%s: %w; %s in the inventory", flag, err, instead))
	}
	return err
}
