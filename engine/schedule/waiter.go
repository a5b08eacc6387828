package schedule

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// waiter is one waiting host.
type waiter struct {
	host *host
	what string
	done chan struct{}
	err  error
	free bool // released
}

// await blocks the host until release is called for w; c.mu is held on entry and not on
// return. A graceful stop of the run also ends the wait.
func (c *coordinator) await(ctx context.Context, w *waiter) error {
	if w.free {
		c.mu.Unlock()
		return w.err
	}
	c.waiting[w] = struct{}{}
	c.active--
	c.checkDeadlock()
	c.mu.Unlock()
	w.host.emitWait(w.what)
	defer w.host.emitWait("")
	select {
	case <-w.done:
		return w.err
	case <-ctx.Done():
	case <-w.host.stop().Done():
		ctx = w.host.stop()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if w.free {
		return w.err
	}
	c.release(w, context.Cause(ctx))
	return w.err
}

// release ends a wait; err is the reason why the host cannot continue.
func (c *coordinator) release(w *waiter, err error) {
	if w.free {
		return
	}
	w.free, w.err = true, err
	if _, counted := c.waiting[w]; counted {
		delete(c.waiting, w)
		c.active++
	}
	close(w.done)
}

func newWaiter(h *host, what string) *waiter {
	return &waiter{host: h, what: what, done: make(chan struct{})}
}

var errDeadlock = errors.New("deadlock: hosts wait for each other")

// checkDeadlock detects a deadlock: it ends all waits when no host is left that could end
// them.
func (c *coordinator) checkDeadlock() {
	if c.active > 0 {
		return
	}
	waiters := c.sortedWaiters()
	if len(waiters) == 0 || c.electWaiting() {
		return
	}
	var who []string
	for _, w := range waiters[:min(3, len(waiters))] {
		who = append(who, w.host.name+" waits for "+w.what)
	}
	err := fmt.Errorf("%w: %s", errDeadlock, strings.Join(who, "; "))
	waiters[0].host.run.abort(err)
	for _, w := range waiters {
		c.release(w, err)
	}
}

func (c *coordinator) sortedWaiters() []*waiter {
	var out []*waiter
	for w := range c.waiting {
		out = append(out, w)
	}
	slices.SortFunc(out, func(a, b *waiter) int { return a.host.index - b.host.index })
	return out
}
