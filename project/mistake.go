package project

// Mistake is an error in what the user has given: a file, a name, a combination of
// them. It is found before any host is contacted, and trying again does not help.
type Mistake struct{ Err error }

// Error implements error.
func (m *Mistake) Error() string { return m.Err.Error() }

// Unwrap gives the error that it is.
func (m *Mistake) Unwrap() error { return m.Err }

// Mistaken marks an error as the user's.
func Mistaken(err error) error { return &Mistake{Err: err} }
