package session

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"deployer/engine"
	"deployer/engine/lock"
)

// LockOptions configures the run lock. The run locks all hosts that answer before it sends
// a segment to one of them. A run that cannot lock them all is aborted.
type LockOptions struct {
	Holder lock.Holder
	// MaxWait is the maximum time to wait for another run that holds a host, at least
	// lock.Grace.
	MaxWait time.Duration
	// Guards are locked even if no play names them, so that two runs on different hosts of
	// a cluster exclude each other. A majority is enough, because one of them may be down.
	Guards []string
	// GuardsNoun is the plural noun for the guards in messages; "guards" when empty.
	GuardsNoun string
}

// lockIdleTimeout is the time without a new connection after which the run no longer waits
// for the other hosts. Otherwise a host that hangs would hold up all others. Such a host is
// locked when it connects.
const lockIdleTimeout = 3 * time.Second

// connectedHost is a host that is connected and not locked yet.
type connectedHost struct {
	conn    *Connection
	session *opened
}

// runLock makes hosts wait until the run has its locks. A nil runLock locks nothing.
type runLock struct {
	LockOptions
	opts    Options
	decided chan struct{} // closed when the locks are there, or the run is aborted
	// hosts are the hosts of the run and the guards. Machines of delegate_to are not
	// locked: several runs may use them at the same time.
	hosts map[*Connection]bool

	mu          sync.Mutex
	hasMajority bool                 // the majority of the guards was locked
	lostGuards  map[string]bool      // guards that were given up
	away        map[string]bool      // guards whose connection was lost and is being opened again
	paused      bool                 // too few guards are connected: no new work is sent
	resumed     chan struct{}        // closed when paused becomes false; nil if it is false
	expected    map[*Connection]bool // may still connect
	joined      map[*Connection]bool // were locked by this run
	lossWarned  bool                 // a loss of locks was reported
	connected   []connectedHost
	started     bool
	timer       *time.Timer
}

// newRunLock returns the run lock for these machines.
func newRunLock(opts Options, hosts map[*Connection]bool) *runLock {
	c := &runLock{LockOptions: *opts.Lock, opts: opts, hosts: hosts, decided: make(chan struct{}), expected: maps.Clone(hosts)}
	c.GuardsNoun = cmp.Or(c.GuardsNoun, "guards")
	return c
}

// join waits until the host of a new session is locked. Each new session with a host of the
// run calls it before use.
func (c *runLock) join(ctx context.Context, l *Connection, s *opened) error {
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
	case <-c.opts.Stop.Done():
	}
	if c.opts.Stop.Err() != nil {
		return context.Cause(c.opts.Stop)
	}
	if err := c.lockSingle(ctx, connectedHost{l, s}); err != nil {
		return err
	}
	c.reportLoss(l)
	return nil
}

// reportLoss warns when a host is locked again after its connection was lost: the host has
// released the lock meanwhile. A loss of many hosts, as of a controller that was suspended, is one
// warning.
func (c *runLock) reportLoss(l *Connection) {
	c.mu.Lock()
	again := c.joined[l] && !c.lossWarned
	if c.joined == nil {
		c.joined = map[*Connection]bool{}
	}
	c.joined[l], c.lossWarned = true, c.lossWarned || again
	c.mu.Unlock()
	if again {
		c.opts.Emit(engine.Event{Type: engine.EventWarning, Host: l.name,
			Text: "lost its connection, and with it the lock of this run, until now: another run may have changed this host, and other hosts that were lost, in between"})
	}
}

// relock locks a host again after an expected loss. Unlike join, it does so even if the run
// is to be stopped, because the step in flight must end.
func (c *runLock) relock(ctx context.Context, l *Connection, s *opened) error {
	if c == nil || !c.hosts[l] {
		return nil
	}
	return c.lockSingle(ctx, connectedHost{l, s})
}

// connectFailed records a failed attempt to connect. Only guards are expected until their
// last attempt.
func (c *runLock) connectFailed(l *Connection, last bool) {
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

// hostsChanged starts the locking when no host is expected any more; c.mu is held.
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

// startWithoutOthers starts the locking without the hosts that have not connected.
func (c *runLock) startWithoutOthers() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.started && len(c.connected) > 0 && c.majority(func(connectedHost) bool { return true }) {
		c.start()
	}
}

func (c *runLock) start() {
	c.started = true
	go c.acquire(c.opts.Stop)
}

// close waits for the locking, at the end of the run.
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

// majority reports whether more than half of the guards are connected and satisfy counts.
func (c *runLock) majority(counts func(connectedHost) bool) bool {
	n := 0
	for _, a := range c.connected {
		if slices.Contains(c.Guards, a.conn.name) && counts(a) {
			n++
		}
	}
	return len(c.Guards) == 0 || 2*n > len(c.Guards)
}
