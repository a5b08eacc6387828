package schedule

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"deployer/engine/lock"
)

// claimPoll is the wait between two tries for a lock.
const claimPoll = 200 * time.Millisecond

// acquire locks all that are here, or aborts the run.
func (c *claim) acquire(ctx context.Context) {
	defer c.recount() // a guard may have been lost meanwhile
	defer close(c.decided)
	var waits lockWait
	defer waits.over()
	for began := time.Now(); c.run.stop.Err() == nil; {
		held := c.lockAll(ctx)
		if len(held) == 0 {
			if len(c.here) > 0 && !c.enough(func(a arrival) bool { return a.session.locked.Load() }) {
				c.run.abort(fmt.Errorf("refused: more than half of the masters (%s) must be reached and locked, so that no other run changes this cluster meanwhile; to lock only the hosts of this run, use --lock hosts", listed(c.Guards)))
				return
			}
			c.mu.Lock()
			c.guarded = len(c.here) > 0 && len(c.Guards) > 0
			c.mu.Unlock()
			return
		}
		verdict, worst := c.judge(held, time.Since(began))
		switch verdict {
		case lock.Refuse:
			c.run.abort(refused(worst, len(held)-1))
			return
		case lock.Release:
			c.unlockAll(ctx)
		}
		at := slices.IndexFunc(c.here, func(a arrival) bool { return a.link.name == worst.Host })
		waits.on(c.here[at].link, worst)
		_ = sleep(ctx, c.run.stop, claimPoll+rand.N(claimPoll)) // its end is seen above
	}
}

// judge finds what to do about locks of others, and the one that decides it.
func (c *claim) judge(held []*lock.Held, waited time.Duration) (lock.Decision, *lock.Held) {
	verdict, worst := lock.Wait, held[0]
	for _, other := range held {
		if v := lock.Decide(c.Holder, other.By, waited, c.Patience); v > verdict {
			verdict, worst = v, other
		}
	}
	return verdict, worst
}

func refused(held *lock.Held, more int) error {
	others := ""
	if more > 0 {
		others = fmt.Sprintf(" (and on %d more)", more)
	}
	return fmt.Errorf("refused: %w%s; to wait for its end, use --lock-timeout", held, others)
}

// lockAll tries to lock those that are here, and returns who holds the others.
// One whose connection breaks is left to its own goroutine.
func (c *claim) lockAll(ctx context.Context) []*lock.Held {
	found := make([]*lock.Held, len(c.here))
	var all sync.WaitGroup
	for i, a := range c.here {
		all.Go(func() { _ = errors.As(c.lock(ctx, a), &found[i]) })
	}
	all.Wait()
	return slices.DeleteFunc(found, func(held *lock.Held) bool { return held == nil })
}

func (c *claim) unlockAll(ctx context.Context) {
	var all sync.WaitGroup
	for _, a := range c.here {
		if l, ok := a.session.Host.(Locker); ok && a.session.locked.Swap(false) {
			all.Go(func() { _ = l.Unlock(ctx) }) // a broken connection unlocks too
		}
	}
	all.Wait()
}

// lock tries once.
func (c *claim) lock(ctx context.Context, a arrival) error {
	if a.session.locked.Load() {
		return nil
	}
	l, ok := a.session.Host.(Locker)
	if !ok {
		return fmt.Errorf("%s cannot be locked", a.link.name)
	}
	if err := l.Lock(ctx, c.Holder); err != nil {
		return err
	}
	a.session.locked.Store(true)
	return nil
}

// late locks a host that was not there, or is there again after its connection
// was lost. The others are at work by now: there is nothing to give back.
func (c *claim) late(ctx context.Context, a arrival) error {
	var waits lockWait
	defer waits.over()
	for began := time.Now(); ; {
		err := c.lock(ctx, a)
		var held *lock.Held
		if !errors.As(err, &held) {
			return err
		}
		if lock.Decide(c.Holder, held.By, time.Since(began), c.Patience) == lock.Refuse {
			c.run.abort(refused(held, 0))
			return context.Cause(c.run.stop)
		}
		waits.on(a.link, held)
		if err := sleep(ctx, c.run.stop, claimPoll); err != nil {
			return err
		}
	}
}

// lockWait tells the world which lock is waited for, once.
type lockWait struct {
	link *link
	text string
}

func (w *lockWait) on(l *link, held *lock.Held) {
	if text := "for the lock: " + held.Error(); w.link != l || w.text != text {
		w.over()
		w.link, w.text = l, text
		l.waits(text)
	}
}

func (w *lockWait) over() {
	if w.link != nil {
		w.link.waits("")
	}
}
