package schedule

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"deployer/engine/lock"
)

// LockOptions says how the run locks its hosts: all of those that answer, before
// anything is sent to one of them. A run that cannot have them all is aborted.
type LockOptions struct {
	Holder lock.Holder
	// MaxWait is how long to wait for another run that holds a host; it is
	// never less than lock.Grace.
	MaxWait time.Duration
	// Guards are locked although no play may name them: the masters of a
	// cluster, so that two runs on different hosts of it exclude each other. As
	// one of them may be down, more than half of them are enough.
	Guards []string
}

// Locker is a Host that can be locked for a run. The error of Lock is a
// *lock.Held when another run has it.
type Locker interface {
	Lock(ctx context.Context, who lock.Holder) error
	Unlock(ctx context.Context) error
}

// lockIdleTimeout is how long nobody may have arrived until those who have not are
// no longer waited for. A host that hangs would hold up all others else; it is
// locked by itself when it comes.
const lockIdleTimeout = 3 * time.Second

// connectedHost is a host that is connected and not locked yet.
type connectedHost struct {
	link    *connection
	session *session
}

// runLock is where hosts wait until the run has its locks. A nil runLock locks
// nothing.
type runLock struct {
	LockOptions
	run     *run
	decided chan struct{} // closed when the locks are there, or the run is aborted
	// hosts are the hosts of the run. A machine that they only visit, by
	// delegate_to, is not locked: other runs may visit it too.
	hosts map[*connection]bool

	mu          sync.Mutex
	hasMajority bool                 // the majority of the guards was locked
	lostGuards  map[string]bool      // guards that were given up
	expected    map[*connection]bool // that may still arrive
	connected   []connectedHost
	started     bool
	timer       *time.Timer
}

func newRunLock(r *run) *runLock {
	if r.opts.Lock == nil {
		return nil
	}
	c := &runLock{LockOptions: *r.opts.Lock, run: r, decided: make(chan struct{}), expected: map[*connection]bool{}}
	for _, h := range r.hosts {
		c.expected[h.connection] = true
	}
	for _, l := range r.guards {
		c.expected[l] = true
	}
	c.hosts = maps.Clone(c.expected)
	return c
}

// join is called for each new session with a host of the run, before it is used,
// and returns when the host is locked.
func (c *runLock) join(ctx context.Context, l *connection, s *session) error {
	if c == nil || !c.hosts[l] {
		return nil
	}
	c.mu.Lock()
	if c.expected[l] && !c.started {
		c.connected = append(c.connected, connectedHost{l, s})
	}
	delete(c.expected, l)
	c.hostsChanged()
	c.mu.Unlock()
	select {
	case <-c.decided:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-c.run.stop.Done():
	}
	if c.run.stop.Err() != nil {
		return context.Cause(c.run.stop)
	}
	return c.lockSingle(ctx, connectedHost{l, s})
}

// relock locks a host again that was away on purpose. Unlike join it does so also
// when the run is to be stopped: the step that is in flight has to end.
func (c *runLock) relock(ctx context.Context, l *connection, s *session) error {
	if c == nil || !c.hosts[l] {
		return nil
	}
	return c.lockSingle(ctx, connectedHost{l, s})
}

// connectFailed tells that an attempt to connect has failed. Only guards are waited for
// until their last attempt.
func (c *runLock) connectFailed(l *connection, last bool) {
	if c == nil || !last && slices.Contains(c.Guards, l.name) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.expected[l] {
		delete(c.expected, l)
		c.hostsChanged()
	}
}

// hostsChanged is called when a host came or failed to: the last one begins the
// locking; c.mu is held.
func (c *runLock) hostsChanged() {
	switch {
	case c.started:
	case len(c.expected) == 0:
		c.start()
	case c.timer == nil:
		c.timer = time.AfterFunc(lockIdleTimeout, c.startWithoutOthers)
	default:
		c.timer.Reset(lockIdleTimeout)
	}
}

// startWithoutOthers begins the locking without those who have not come.
func (c *runLock) startWithoutOthers() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.started && len(c.connected) > 0 && c.majority(func(connectedHost) bool { return true }) {
		c.start()
	}
}

func (c *runLock) start() {
	c.started = true
	go c.acquire(c.run.stop)
}

// close is called when the run is over.
func (c *runLock) close() {
	if c == nil {
		return
	}
	c.mu.Lock()
	begun := c.started
	c.started = true
	if c.timer != nil {
		c.timer.Stop()
	}
	c.mu.Unlock()
	if begun {
		<-c.decided
	}
}

// majority tells whether more than half of the guards are among those that are
// here and counted.
func (c *runLock) majority(counts func(connectedHost) bool) bool {
	n := 0
	for _, a := range c.connected {
		if slices.Contains(c.Guards, a.link.name) && counts(a) {
			n++
		}
	}
	return len(c.Guards) == 0 || 2*n > len(c.Guards)
}
