package project

// UserError is an error in the user's input: a file, a name, or a combination of
// them. A UserError is found before any host is contacted; a retry does not help.
type UserError struct{ Err error }

// Error implements error.
func (m *UserError) Error() string { return m.Err.Error() }

// Unwrap returns the wrapped error.
func (m *UserError) Unwrap() error { return m.Err }

// AsUserError wraps an error whose cause is the user's input.
func AsUserError(err error) error { return &UserError{Err: err} }
