package session

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"deployer/engine/lock"
	"deployer/shellquote"
	"deployer/shortlist"
)

// lockPollInterval is the interval between attempts to lock.
const lockPollInterval = 200 * time.Millisecond

// acquire locks all connected hosts, or aborts the run.
func (c *runLock) acquire(ctx context.Context) {
	defer c.checkMajority() // a guard may have been lost meanwhile
	defer close(c.decided)
	var waits lockWait
	defer waits.done()
	for began := time.Now(); c.opts.Stop.Err() == nil; {
		held := c.lockAll(ctx)
		if len(held) == 0 {
			if len(c.connected) > 0 && !c.majority(func(a connectedHost) bool { return a.session.locked.Load() }) {
				c.opts.Abort(fmt.Errorf("refused: more than half of the %s (%s) must be reached and locked, so that no other run changes this cluster meanwhile; to lock only the hosts of this run, use --lock hosts", c.GuardsNoun, shortlist.Names(c.Guards, maxNamed)))
				return
			}
			c.mu.Lock()
			c.hasMajority = len(c.connected) > 0 && len(c.Guards) > 0
			c.mu.Unlock()
			return
		}
		decision, holder := c.decide(held, time.Since(began))
		switch decision {
		case lock.Refuse:
			c.opts.Abort(refusedError(holder, len(held)-1))
			return
		case lock.Release:
			c.unlockAll(ctx)
		}
		at := slices.IndexFunc(c.connected, func(a connectedHost) bool { return a.conn.name == holder.Host })
		waits.report(c.connected[at].conn, holder)
		_ = Sleep(ctx, c.opts.Stop, lockPollInterval+rand.N(lockPollInterval)) // its end is seen above
	}
}

// decide returns what to do about the locks of other runs, and the lock that decides it.
func (c *runLock) decide(held []*lock.Held, waited time.Duration) (lock.Decision, *lock.Held) {
	decision, holder := lock.Wait, held[0]
	for _, other := range held {
		if v := lock.Decide(c.Holder, other.By, waited, c.MaxWait); v > decision {
			decision, holder = v, other
		}
	}
	return decision, holder
}

func refusedError(held *lock.Held, more int) error {
	others := ""
	if more > 0 {
		others = fmt.Sprintf(" (and on %d more)", more)
	}
	follow := ""
	if held.By.Run != "" {
		follow = "; to follow it: deployer runs show " + shellquote.Word(held.By.Run) + " --from-hosts"
	}
	return fmt.Errorf("refused: %w%s%s; to wait for its end, use --lock-timeout", held, others, follow)
}

// lockAll tries once to lock the connected hosts, and returns the locks of other runs. lockAll
// ignores hosts whose connection breaks: their own goroutines handle that.
func (c *runLock) lockAll(ctx context.Context) []*lock.Held {
	found := make([]*lock.Held, len(c.connected))
	var all sync.WaitGroup
	for i, a := range c.connected {
		all.Go(func() { _ = errors.As(c.lock(ctx, a), &found[i]) })
	}
	all.Wait()
	return slices.DeleteFunc(found, func(held *lock.Held) bool { return held == nil })
}

func (c *runLock) unlockAll(ctx context.Context) {
	var all sync.WaitGroup
	for _, a := range c.connected {
		if l, ok := a.session.Session.(Locker); ok && a.session.locked.Swap(false) {
			all.Go(func() { _ = l.Unlock(ctx) }) // a broken connection unlocks too
		}
	}
	all.Wait()
}

// lock tries once to lock a host.
func (c *runLock) lock(ctx context.Context, a connectedHost) error {
	if a.session.locked.Load() {
		return nil
	}
	l, ok := a.session.Session.(Locker)
	if !ok {
		return fmt.Errorf("%s cannot be locked", a.conn.name)
	}
	if err := l.Lock(ctx, c.Holder); err != nil {
		return err
	}
	a.session.locked.Store(true)
	return nil
}

// lockSingle locks a host that connects late or again. The other hosts work already: the
// run keeps their locks meanwhile.
func (c *runLock) lockSingle(ctx context.Context, a connectedHost) error {
	var waits lockWait
	defer waits.done()
	for began := time.Now(); ; {
		err := c.lock(ctx, a)
		var held *lock.Held
		if !errors.As(err, &held) {
			return err
		}
		if lock.Decide(c.Holder, held.By, time.Since(began), c.MaxWait) == lock.Refuse {
			c.opts.Abort(refusedError(held, 0))
			return context.Cause(c.opts.Stop)
		}
		waits.report(a.conn, held)
		if err := Sleep(ctx, c.opts.Stop, lockPollInterval); err != nil {
			return err
		}
	}
}

// lockWait emits once for which lock the run waits.
type lockWait struct {
	conn *Connection
	text string
}

func (w *lockWait) report(l *Connection, held *lock.Held) {
	if text := "for the lock: " + held.Error(); w.conn != l || w.text != text {
		w.done()
		w.conn, w.text = l, text
		l.emitWait(text)
	}
}

func (w *lockWait) done() {
	if w.conn != nil {
		w.conn.emitWait("")
	}
}
