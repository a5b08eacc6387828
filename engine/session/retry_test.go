package session

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"deployer/engine"
)

// temporaryError is an error of a connection that permits a retry.
type temporaryError struct{}

func (temporaryError) Error() string   { return "no answer" }
func (temporaryError) Retryable() bool { return true }

// connectorFunc connects to hosts.
type connectorFunc func() error

func (f connectorFunc) Connect(context.Context, string) (Session, error) { return nil, f() }

// TestFirstConnection: a host that is off is given up after two time-outs, one that refuses is
// tried until the number of attempts is used up, and a host that was lost has time to boot.
func TestFirstConnection(t *testing.T) {
	t.Parallel()
	retry := Retry{}.WithDefaults()
	for name, c := range map[string]struct {
		answer   time.Duration // until an attempt fails
		attempts int
		want     int
		longest  time.Duration
	}{
		"switched off":           {10 * time.Second, retry.Attempts, 2, 25 * time.Second},
		"refuses at once":        {time.Millisecond, retry.Attempts, 4, 8 * time.Second},
		"slow, with a time-out":  {4 * time.Second, retry.Attempts, 4, 25 * time.Second},
		"lost, may be rebooting": {10 * time.Second, retry.Reattempts, 8, 3 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				tries := 0
				connections := Open(Options{
					Connector: connectorFunc(func() error { tries++; time.Sleep(c.answer); return temporaryError{} }),
					Semaphore: NewSemaphore(1), Emit: func(engine.Event) {}, Stop: t.Context(),
				}, nil)
				began := time.Now()
				_, err := connections.Host("n1").Get(t.Context(), t.Context(), c.attempts)
				var down *Unreachable
				if !errors.As(err, &down) || down.Tries != c.want || tries != c.want {
					t.Errorf("got %v after %d attempts, want %d", err, tries, c.want)
				}
				if took := time.Since(began); took > c.longest {
					t.Errorf("took %s", took)
				}
			})
		})
	}
}
