package session

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// maxReopenInterval is the maximum interval between attempts to reconnect to a host that is
// expected to come back.
const maxReopenInterval = 5 * time.Second

// Reopen waits until the session is lost, because of a step, and opens a new one. Reopen
// retries every error until ctx ends, because errors are expected meanwhile. Other users of
// the host wait for it.
func (l *Connection) Reopen(ctx context.Context) error {
	gone := l.Live()
	if gone != nil {
		if err := awaitLoss(ctx, gone); err != nil {
			return err
		}
		l.Drop(gone)
	}
	if connected, err := l.takeOver(ctx); connected || err != nil {
		return err
	}
	s, err := l.dialUntilDone(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.session = s
	close(l.dialing)
	l.dialing = nil
	return err
}

// awaitLoss waits until a session has ended. A session that cannot report its end counts as
// lost.
func awaitLoss(ctx context.Context, s Session) error {
	n, ok := s.(LossNotifier)
	if !ok {
		return nil
	}
	select {
	case <-n.Lost():
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: it has not gone down, its agent still answers", context.Cause(ctx))
	}
}

// takeOver makes the caller the one that connects, after the current attempt of others. The
// failure of that attempt does not matter: it did not expect the loss.
func (l *Connection) takeOver(ctx context.Context) (connected bool, err error) {
	for {
		l.mu.Lock()
		others := l.dialing
		if others == nil {
			defer l.mu.Unlock()
			if l.session != nil {
				return true, nil
			}
			l.down = nil
			l.dialing = make(chan struct{})
			return false, nil
		}
		l.mu.Unlock()
		select {
		case <-others:
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	}
}

// dialUntilDone connects and locks the host; it retries until ctx ends.
func (l *Connection) dialUntilDone(ctx context.Context) (*opened, error) {
	wait := min(l.run.opts.Retry.Initial, maxReopenInterval)
	why := errors.New("no connection attempt was made")
	for {
		s, _, err := l.attempt(ctx, ctx)
		if err == nil {
			if err = l.run.lock.relock(ctx, l, s); err == nil {
				l.record(ctx, s)
				return s, nil
			}
			_ = s.Close()
			if l.run.opts.Stop.Err() != nil {
				return nil, err // another run holds the lock: this run has been aborted
			}
		}
		if ctx.Err() != nil { // the error is not the host's
			return nil, fmt.Errorf("%w: %w", context.Cause(ctx), why)
		}
		why = err
		_ = Sleep(ctx, ctx, jittered(wait)) // its end is seen above
		wait = min(2*wait, maxReopenInterval)
	}
}
