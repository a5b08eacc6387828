package project

import (
	"strings"

	"deployer/engine/redact"
)

// secretsHiddenError is an error with a text that has no secret.
type secretsHiddenError struct {
	err  error
	text string
}

// Error returns the text without secrets.
func (e *secretsHiddenError) Error() string { return e.text }

// Unwrap returns the error as it was.
func (e *secretsHiddenError) Unwrap() error { return e.err }

// hideSecrets returns err without the secrets of the inventory and those of more in its text:
// a message quotes the value that is wrong, which may come from an environment variable.
func (p *Project) hideSecrets(err error, more ...string) error {
	if err == nil {
		return nil
	}
	set := redact.NewSet()
	if p.Inventory != nil {
		more = append(p.Inventory.Secrets(), more...)
	}
	for _, secret := range more {
		if p.IsPlaceholder == nil || !p.IsPlaceholder(secret) {
			// Advice such as `must be lower case: "m2"` changes the value.
			set.Add(secret, strings.ToLower(secret), strings.TrimSpace(secret))
		}
	}
	text := set.Text(err.Error())
	if text == err.Error() {
		return err
	}
	return &secretsHiddenError{err, text}
}
