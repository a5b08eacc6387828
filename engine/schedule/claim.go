package schedule

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"deployer/engine/lock"
)

// Claim says how the run locks its hosts: all of those that answer, before
// anything is sent to one of them. A run that cannot have them all is aborted.
type Claim struct {
	Holder lock.Holder
	// Patience is how long to wait for another run that holds a host; it is
	// never less than lock.Grace.
	Patience time.Duration
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

// claimQuiet is how long nobody may have arrived until those who have not are
// no longer waited for. A host that hangs would hold up all others else; it is
// locked by itself when it comes.
const claimQuiet = 3 * time.Second

// arrival is a host that is connected and not locked yet.
type arrival struct {
	link    *link
	session *session
}

// claim is where hosts wait until the run has its locks. A nil claim locks
// nothing.
type claim struct {
	Claim
	run     *run
	decided chan struct{} // closed when the locks are there, or the run is aborted
	// ours are the hosts of the run. A machine that they only visit, by
	// delegate_to, is not locked: other runs may visit it too.
	ours map[*link]bool

	mu      sync.Mutex
	guarded bool            // the majority of the guards was locked
	lost    map[string]bool // guards that were given up
	awaited map[*link]bool  // that may still arrive
	here    []arrival
	begun   bool
	timer   *time.Timer
}

func newClaim(r *run) *claim {
	if r.opts.Claim == nil {
		return nil
	}
	c := &claim{Claim: *r.opts.Claim, run: r, decided: make(chan struct{}), awaited: map[*link]bool{}}
	for _, h := range r.hosts {
		c.awaited[h.link] = true
	}
	for _, l := range r.guards {
		c.awaited[l] = true
	}
	c.ours = maps.Clone(c.awaited)
	return c
}

// join is called for each new session with a host of the run, before it is used,
// and returns when the host is locked.
func (c *claim) join(ctx context.Context, l *link, s *session) error {
	if c == nil || !c.ours[l] {
		return nil
	}
	c.mu.Lock()
	if c.awaited[l] && !c.begun {
		c.here = append(c.here, arrival{l, s})
	}
	delete(c.awaited, l)
	c.moved()
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
	return c.late(ctx, arrival{l, s})
}

// rejoin locks a host again that was away on purpose. Unlike join it does so also
// when the run is to be stopped: the step that is in flight has to end.
func (c *claim) rejoin(ctx context.Context, l *link, s *session) error {
	if c == nil || !c.ours[l] {
		return nil
	}
	return c.late(ctx, arrival{l, s})
}

// miss tells that an attempt to connect has failed. Only guards are waited for
// until their last attempt.
func (c *claim) miss(l *link, last bool) {
	if c == nil || !last && slices.Contains(c.Guards, l.name) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.awaited[l] {
		delete(c.awaited, l)
		c.moved()
	}
}

// moved is called when a host came or failed to: the last one begins the
// locking; c.mu is held.
func (c *claim) moved() {
	switch {
	case c.begun:
	case len(c.awaited) == 0:
		c.begin()
	case c.timer == nil:
		c.timer = time.AfterFunc(claimQuiet, c.quiet)
	default:
		c.timer.Reset(claimQuiet)
	}
}

// quiet begins the locking without those who have not come.
func (c *claim) quiet() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.begun && len(c.here) > 0 && c.enough(func(arrival) bool { return true }) {
		c.begin()
	}
}

func (c *claim) begin() {
	c.begun = true
	go c.acquire(c.run.stop)
}

// end is called when the run is over.
func (c *claim) end() {
	if c == nil {
		return
	}
	c.mu.Lock()
	begun := c.begun
	c.begun = true
	if c.timer != nil {
		c.timer.Stop()
	}
	c.mu.Unlock()
	if begun {
		<-c.decided
	}
}

// enough tells whether more than half of the guards are among those that are
// here and counted.
func (c *claim) enough(counts func(arrival) bool) bool {
	n := 0
	for _, a := range c.here {
		if slices.Contains(c.Guards, a.link.name) && counts(a) {
			n++
		}
	}
	return len(c.Guards) == 0 || 2*n > len(c.Guards)
}
