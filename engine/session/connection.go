package session

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"deployer/engine"
)

// Connection is the connection to one machine, used by its own host and by hosts that
// delegate steps to it. A user that finds the session lost drops it, and the next Get
// connects again. Connection is safe for concurrent use.
type Connection struct {
	// Delegated bounds the steps in flight on the machine for other hosts.
	Delegated *Semaphore

	run     *Connections
	name    string
	connect func(ctx context.Context) (Session, error)

	mu      sync.Mutex
	session *opened
	dialing chan struct{} // closed when the attempt in flight has ended
	down    error         // the error for which the machine was given up
}

// MaxDelegated is the maximum number of steps in flight on one host for other hosts: an
// agent runs up to 32 segments, and needs some for its own host.
const MaxDelegated = 24

// opened is one connected session; a reconnect makes another.
type opened struct {
	Session
	locked atomic.Bool // for the run; see LockOptions
}

// Name returns the name of the machine in the inventory.
func (l *Connection) Name() string { return l.name }

// Get returns the session, and connects when there is none, with the given maximum number
// of attempts. The error is an *Unreachable when the machine cannot be reached, else the
// cause of the end of ctx or stop.
func (l *Connection) Get(ctx, stop context.Context, attempts int) (Session, error) {
	s, err := l.get(ctx, stop, attempts)
	if err != nil {
		return nil, err
	}
	return s.Session, nil
}

func (l *Connection) get(ctx, stop context.Context, attempts int) (*opened, error) {
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

// dial connects for all callers of get. dial does not try a machine again that was given up
// in this run.
func (l *Connection) dial(ctx, stop context.Context, attempts int) (s *opened, err error) {
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if f, given := err.(*Unreachable); given { //nolint:errorlint // never wrapped
			l.down = f
		}
		l.session = s
		close(l.dialing)
		l.dialing = nil
	}()
	return l.dialWithRetry(ctx, stop, attempts)
}

// dialWithRetry connects and retries temporary errors. dialWithRetry holds no slot of the semaphore between attempts.
func (l *Connection) dialWithRetry(ctx, stop context.Context, attempts int) (*opened, error) {
	retry := l.run.opts.Retry
	wait, waited := retry.Initial, time.Duration(0)
	for try := 1; ; try++ {
		s, took, err := l.attempt(ctx, stop)
		if err == nil {
			if err = l.run.lock.join(ctx, l, s); err == nil {
				l.record(ctx, s)
				return s, nil
			}
			_ = s.Close()
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if stop.Err() != nil {
			return nil, context.Cause(stop)
		}
		waited += took
		last := try >= attempts || !Retryable(err) || attempts <= retry.Attempts && waited >= retry.Waited
		l.run.lock.connectFailed(l, last)
		if last {
			return nil, &Unreachable{Err: err, Tries: try}
		}
		pause := jittered(wait)
		l.run.opts.Emit(engine.Event{Type: engine.EventHostRetry, Host: l.name,
			Text: fmt.Sprintf("%v; trying again in %s (%d of %d)", err, pause.Round(100*time.Millisecond), try+1, attempts)})
		if err := Sleep(ctx, stop, pause); err != nil {
			return nil, err
		}
		wait = min(2*wait, retry.Max)
	}
}

// attempt connects once; took is the time without that for a slot of the semaphore.
func (l *Connection) attempt(ctx, stop context.Context) (s *opened, took time.Duration, err error) {
	if err := l.run.opts.Semaphore.Acquire(stop); err != nil {
		return nil, 0, err
	}
	defer l.run.opts.Semaphore.Release()
	began := time.Now()
	session, err := l.connect(ctx)
	if err != nil {
		return nil, time.Since(began), err
	}
	return &opened{Session: session}, 0, nil
}

// Probe opens another session and ends it: the proof that the machine can be reached anew,
// whatever happens to the present session. Probe retries temporary errors until ctx ends, and
// returns the last one.
func (l *Connection) Probe(ctx context.Context) error {
	for {
		s, _, err := l.attempt(ctx, ctx)
		if err == nil {
			return s.Close()
		}
		if !Retryable(err) || Sleep(ctx, ctx, jittered(l.run.opts.Retry.Initial)) != nil {
			return err
		}
	}
}

// record hands a new session to the recorder of the run, if there is one.
func (l *Connection) record(ctx context.Context, s *opened) {
	if l.run.opts.Recorder != nil {
		l.run.opts.Recorder.Attach(ctx, l.name, s.Session)
	}
}

// Live returns the session; nil when there is none.
func (l *Connection) Live() Session {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.session == nil {
		return nil
	}
	return l.session.Session
}

// Drop closes a session that is lost, unless another caller did. Drop ignores the error of
// Close.
func (l *Connection) Drop(s Session) {
	l.mu.Lock()
	known := s != nil && l.session != nil && l.session.Session == s
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
func (l *Connection) emitWait(what string) {
	l.run.opts.Emit(engine.Event{Type: engine.EventWait, Host: l.name, Text: what})
}
