// Package poll waits for something to become true, for a bounded time, and tells
// what it saw last when it did not.
package poll

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// TimeoutError says that what was waited for did not come in time, and what was
// seen last.
type TimeoutError struct {
	Timeout time.Duration
	Last    string
}

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("not within %s: %s", e.Timeout, e.Last)
}

// Later marks an error that may go away: it is what was seen, and not the end.
func Later(err error) error { return &later{err} }

type later struct{ err error }

func (l *later) Error() string { return l.err.Error() }
func (l *later) Unwrap() error { return l.err }

// Until calls done every interval until it answers true or fails. done says what
// it saw, in words or by an error that Later marked; when timeout is over, the
// last that it saw is in the *TimeoutError. When ctx ends, its cause is returned.
func Until(ctx context.Context, timeout, interval time.Duration, done func(context.Context) (saw string, ok bool, err error)) error {
	late := &TimeoutError{Timeout: timeout, Last: "it was not looked at"}
	limited, cancel := context.WithTimeoutCause(ctx, timeout, late)
	defer cancel()
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		saw, ok, err := done(limited)
		var again *later
		switch {
		case ok && err == nil:
			return nil
		case limited.Err() != nil:
			return context.Cause(limited)
		case errors.As(err, &again):
			saw = again.Error()
		case err != nil:
			return err
		}
		late.Last = saw
		select {
		case <-limited.Done():
			return context.Cause(limited)
		case <-ticker.C:
		}
	}
}
