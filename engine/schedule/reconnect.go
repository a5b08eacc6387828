package schedule

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// maxReopenInterval is the longest wait between two tries to reach a host that is
// expected back.
const maxReopenInterval = 5 * time.Second

// reopen waits until the session is lost, as a step has brought it about, and
// opens another one: again and again until ctx ends, since all that stands in the
// way meanwhile is expected. Others who want the host wait for that.
func (l *connection) reopen(ctx context.Context) error {
	gone := l.live()
	if gone != nil {
		if err := awaitLoss(ctx, gone); err != nil {
			return err
		}
		l.drop(gone)
	}
	if connected, err := l.takeOver(ctx); connected || err != nil {
		return err
	}
	opened, err := l.dialUntilDone(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.session = opened
	close(l.dialing)
	l.dialing = nil
	return err
}

// awaitLoss waits until a session has ended. One that cannot tell is taken for
// lost.
func awaitLoss(ctx context.Context, s *session) error {
	connection, ok := s.Host.(interface{ Lost() <-chan struct{} })
	if !ok {
		return nil
	}
	select {
	case <-connection.Lost():
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: it has not gone down, its agent still answers", context.Cause(ctx))
	}
}

// takeOver makes the caller the one who connects, once those who already try are
// through. That they failed does not matter: they did not know that the host
// would be away.
func (l *connection) takeOver(ctx context.Context) (connected bool, err error) {
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

// dialUntilDone connects and locks the host, until ctx ends.
func (l *connection) dialUntilDone(ctx context.Context) (*session, error) {
	wait := min(l.run.opts.Retry.Initial, maxReopenInterval)
	why := errors.New("it was not tried to connect")
	for {
		opened, err := l.attempt(ctx, ctx)
		if err == nil {
			if err = l.run.lock.relock(ctx, l, opened); err == nil {
				return opened, nil
			}
			_ = opened.Close()
			if l.run.stop.Err() != nil {
				return nil, err // another run holds it: this one has been aborted
			}
		}
		if ctx.Err() != nil { // which is no reason of the host's
			return nil, fmt.Errorf("%w: %w", context.Cause(ctx), why)
		}
		why = err
		_ = sleep(ctx, ctx, jittered(wait)) // its end is seen above
		wait = min(2*wait, maxReopenInterval)
	}
}
