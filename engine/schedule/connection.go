package schedule

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"deployer/engine"
)

// connection is the connection to one machine, used by its own host and by hosts that
// delegate steps to it. A user that finds the session lost drops it, and the next get
// connects again. It is safe for concurrent use.
type connection struct {
	run       *run
	name      string
	connect   func(ctx context.Context) (Host, error)
	delegated *boundedSemaphore // for steps of other hosts

	mu      sync.Mutex
	session *session
	dialing chan struct{} // closed when the attempt in flight has ended
	down    error         // the error for which the machine was given up
}

// session is one connected session; a reconnect makes another.
type session struct {
	Host
	locked atomic.Bool // for the run; see LockOptions
}

// get returns the session, and connects when there is none. The error is a *hostFailure
// when the machine cannot be reached, else the cause of the end of ctx or stop.
func (l *connection) get(ctx, stop context.Context, attempts int) (*session, error) {
	for {
		l.mu.Lock()
		if l.session != nil || l.down != nil {
			defer l.mu.Unlock()
			return l.session, l.down
		}
		if l.dialing == nil {
			l.dialing = make(chan struct{})
			l.mu.Unlock()
			return l.dial(ctx, stop, attempts)
		}
		others := l.dialing
		l.mu.Unlock()
		select {
		case <-others:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-stop.Done():
			return nil, context.Cause(stop)
		}
	}
}

// dial connects for all callers of get. It does not try a machine again that was given up
// in this run.
func (l *connection) dial(ctx, stop context.Context, attempts int) (opened *session, err error) {
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if f, given := err.(*hostFailure); given { //nolint:errorlint // never wrapped
			l.down = f
		}
		l.session = opened
		close(l.dialing)
		l.dialing = nil
	}()
	return l.dialWithRetry(ctx, stop, attempts)
}

// dialWithRetry connects and retries temporary errors. It holds no fork between attempts.
func (l *connection) dialWithRetry(ctx, stop context.Context, attempts int) (*session, error) {
	wait := l.run.opts.Retry.Initial
	for try := 1; ; try++ {
		opened, err := l.attempt(ctx, stop)
		if err == nil {
			if err = l.run.lock.join(ctx, l, opened); err == nil {
				l.record(ctx, opened)
				return opened, nil
			}
			_ = opened.Close()
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if stop.Err() != nil {
			return nil, context.Cause(stop)
		}
		last := try >= attempts || !retryable(err)
		l.run.lock.connectFailed(l, last)
		if last {
			return nil, unreachable(err, try)
		}
		pause := jittered(wait)
		l.run.emit(engine.Event{Type: engine.EventHostRetry, Host: l.name,
			Text: fmt.Sprintf("%v; trying again in %s (%d of %d)", err, pause.Round(100*time.Millisecond), try+1, attempts)})
		if err := sleep(ctx, stop, pause); err != nil {
			return nil, err
		}
		wait = min(2*wait, l.run.opts.Retry.Max)
	}
}

func (l *connection) attempt(ctx, stop context.Context) (*session, error) {
	if err := l.run.forks.acquire(stop); err != nil {
		return nil, err
	}
	defer l.run.forks.release()
	opened, err := l.connect(ctx)
	if err != nil {
		return nil, err
	}
	return &session{Host: opened}, nil
}

// record hands a new session to the recorder of the run, if there is one.
func (l *connection) record(ctx context.Context, opened *session) {
	if l.run.opts.Recorder != nil {
		l.run.opts.Recorder.Attach(ctx, l.name, opened.Host)
	}
}

// live returns the session; nil when there is none.
func (l *connection) live() *session {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.session
}

// drop closes a session that is lost, unless another caller did. It ignores the error of
// Close.
func (l *connection) drop(s *session) {
	l.mu.Lock()
	known := s != nil && l.session == s
	if known {
		l.session = nil
	}
	l.mu.Unlock()
	if known {
		_ = s.Close()
	}
}

// emitWait emits what the host waits for before it can be used; empty when the wait has
// ended.
func (l *connection) emitWait(what string) {
	l.run.emit(engine.Event{Type: engine.EventWait, Host: l.name, Text: what})
}

func unreachable(err error, tries int) *hostFailure {
	message := err.Error()
	if tries > 1 {
		message += fmt.Sprintf(" (tried %d times)", tries)
	}
	return &hostFailure{failure: &engine.Failure{Message: message}, unreachable: true}
}

// sleep waits for d, or until ctx or stop ends.
func sleep(ctx, stop context.Context, d time.Duration) error {
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
