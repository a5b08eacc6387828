// Package poll waits for a condition with a timeout, and reports the last state when
// the timeout passes.
package poll

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// TimeoutError says that a condition did not become true in time, with the last
// state.
type TimeoutError struct {
	Timeout time.Duration
	Last    string
}

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("timeout after %s: %s", e.Timeout, e.Last)
}

// Sleep waits for d, or until ctx ends, and returns the cause of its end then.
func Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}

// Later marks an error as temporary: Until continues, with its text as the state.
func Later(err error) error { return &later{err} }

type later struct{ err error }

func (l *later) Error() string { return l.err.Error() }
func (l *later) Unwrap() error { return l.err }

// IsLater reports whether an error is marked by Later.
func IsLater(err error) bool {
	_, marked := errors.AsType[*later](err)
	return marked
}

// Until calls done every interval until it reports ok or fails. done also returns
// the present state as text, or an error marked by Later. After timeout the error is
// a *TimeoutError with the last state; when ctx ends, it is the cause of ctx.
func Until(ctx context.Context, timeout, interval time.Duration, done func(context.Context) (state string, ok bool, err error)) error {
	late := &TimeoutError{Timeout: timeout, Last: "not checked yet"}
	limited, cancel := context.WithTimeoutCause(ctx, timeout, late)
	defer cancel()
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		state, ok, err := done(limited)
		var again *later
		switch {
		case ok && err == nil:
			return nil
		case limited.Err() != nil:
			return context.Cause(limited)
		case errors.As(err, &again):
			state = again.Error()
		case err != nil:
			return err
		}
		late.Last = state
		select {
		case <-limited.Done():
			return context.Cause(limited)
		case <-ticker.C:
		}
	}
}
