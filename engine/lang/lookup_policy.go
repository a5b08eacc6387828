package lang

import (
	"errors"
	"sync/atomic"

	"deployer/strictyaml"
)

// ErrLookupHeld is the error for a lookup that must not be evaluated yet: the values are
// wanted before the run, or nobody has confirmed what a host says about the run.
var ErrLookupHeld = errors.New("it reads this machine, which only the run does")

// ErrLookupUnknown is the error for a lookup of [UnknownLookups], and for all that is computed from
// one: a check can neither accept nor refuse the value.
var ErrLookupUnknown = errors.New("it depends on a lookup, which only the run evaluates")

// Lookups decides about lookups, which read and write the machine of the controller. With a
// nil *Lookups they are evaluated.
type Lookups struct {
	unknown bool
	held    atomic.Bool
}

// UnknownLookups gives [ErrLookupUnknown] for each lookup of a file, an environment variable
// or a password: nothing of this machine is read. Template files belong to the playbook and are
// read. It is for checks and pictures of playbooks that nobody runs.
func UnknownLookups() *Lookups { return &Lookups{unknown: true} }

// HeldLookups gives [ErrLookupHeld] for each lookup until Release.
func HeldLookups() *Lookups {
	l := &Lookups{}
	l.held.Store(true)
	return l
}

// Release lets the lookups be evaluated from now on. A nil l has nothing to release.
func (l *Lookups) Release() {
	if l != nil {
		l.held.Store(false)
	}
}

// refuse returns why a lookup must not be evaluated; nil when it may be.
func (l *Lookups) refuse(lookup string, vars map[string]any) error {
	context, _ := vars[contextVar].(*runContext)
	switch file := lookup == "template"; {
	case l != nil && l.held.Load(), context != nil && context.holdLookups && !file:
		return ErrLookupHeld
	case l != nil && l.unknown && !file:
		return ErrLookupUnknown
	}
	return nil
}

// unknownVar is the value of a variable that cannot be computed because of [ErrLookupUnknown].
// Reading it is that error.
type unknownVar struct{}

// MarshalJSON returns the error when a mapping that contains the variable is printed.
func (unknownVar) MarshalJSON() ([]byte, error) { return nil, ErrLookupUnknown }

// known returns a value that was read, or the error of an unknownVar.
func known(value any) (any, error) {
	if _, unknown := value.(unknownVar); unknown {
		return nil, ErrLookupUnknown
	}
	return value, nil
}

// unknownError is an error of an expression because of [ErrLookupUnknown].
type unknownError struct{ at *strictyaml.Error }

func (e *unknownError) Error() string { return e.at.Error() }

// Unwrap lets errors.As find the place and errors.Is the reason.
func (e *unknownError) Unwrap() []error { return []error{e.at, ErrLookupUnknown} }

// withReason returns an error with a place that errors.Is finds ErrLookupUnknown in if it is the
// reason.
func withReason(at *strictyaml.Error, reason error) error {
	if errors.Is(reason, ErrLookupUnknown) {
		return &unknownError{at}
	}
	return at
}

// HoldLookups makes lookups other than those of template files [ErrLookupHeld] in every
// evaluation with these variables, for checks before the run.
func (v *Vars) HoldLookups() { v.values[contextVar].(*runContext).holdLookups = true }
