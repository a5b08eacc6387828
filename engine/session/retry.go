package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// Retry configures retries of connections after temporary errors. The interval doubles
// from Initial up to Max. Each interval is shortened at random by up to a quarter, so
// that many hosts do not reconnect at the same moment.
type Retry struct {
	Initial time.Duration // default 1 s
	Max     time.Duration // default 30 s
	// Attempts bounds the first connection. Default 4: about 7 s of waiting.
	Attempts int
	// Waited bounds the time that attempts at the first connection wait for an answer: after
	// it, none begins. Default 15 s. A host that is switched off does not answer at all, so
	// each attempt takes the whole time-out of a connection; one that refuses does so at once.
	Waited time.Duration
	// Reattempts bounds the attempts to reconnect to a host that was lost. Default 8:
	// about 90 s of waiting, enough for a reboot.
	Reattempts int
}

// WithDefaults returns the configuration with defaults for values that are not positive.
func (r Retry) WithDefaults() Retry {
	r.Initial = cmp.Or(max(r.Initial, 0), time.Second)
	r.Max = cmp.Or(max(r.Max, 0), 30*time.Second)
	r.Attempts = cmp.Or(max(r.Attempts, 0), 4)
	r.Waited = cmp.Or(max(r.Waited, 0), 15*time.Second)
	r.Reattempts = cmp.Or(max(r.Reattempts, 0), 8)
	return r
}

// Unreachable is the error for a machine that was given up.
type Unreachable struct {
	Err   error // of the last attempt
	Tries int   // attempts to connect
}

// Error returns the text of the last error, with the number of attempts.
func (u *Unreachable) Error() string {
	if u.Tries > 1 {
		return fmt.Sprintf("%v (tried %d times)", u.Err, u.Tries)
	}
	return u.Err.Error()
}

// Retryable reports whether the error permits a retry.
func Retryable(err error) bool {
	var r interface{ Retryable() bool }
	return errors.As(err, &r) && r.Retryable()
}

// IsConnectionError reports whether an error is one of the connection. Such an error has
// Retryable() bool; another means that the host cannot run the segment: its disk is full.
func IsConnectionError(err error) bool {
	var r interface{ Retryable() bool }
	return errors.As(err, &r)
}

// Sleep waits for d, or until ctx or stop ends; the error is the cause of that end.
func Sleep(ctx, stop context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-stop.Done():
		return context.Cause(stop)
	}
}

// jittered returns d, shortened at random by up to a quarter.
func jittered(d time.Duration) time.Duration {
	return d - time.Duration(rand.Int64N(int64(d)/4+1))
}
