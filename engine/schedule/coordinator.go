package schedule

import (
	"context"
	"slices"
	"sync"

	"deployer/engine/program"
)

// coordinator holds all waits of hosts for each other. A single lock guards its fields; no slow
// operation runs under the lock.
type coordinator struct {
	mu         sync.Mutex
	syncPoints map[syncPointKey]*syncPoint
	// throttles and runOnces are created when the first host arrives.
	throttles map[any]*throttle
	runOnces  map[runOnceKey]*runOnce
	// active is the number of hosts that do not wait. When it is 0 while hosts wait, the
	// run is deadlocked.
	active  int
	waiting map[*waiter]struct{}
}

func newCoordinator(r *run) (*coordinator, error) {
	c := &coordinator{syncPoints: map[syncPointKey]*syncPoint{}, active: len(r.hosts), waiting: map[*waiter]struct{}{},
		throttles: map[any]*throttle{}, runOnces: map[runOnceKey]*runOnce{}}
	for i := range r.prog.Ops {
		gates, err := r.syncPointsAt(i)
		if err != nil {
			return nil, err
		}
		for _, g := range gates {
			c.syncPoints[g.syncPointKey] = g
			for _, h := range g.members {
				h.syncPoints = append(h.syncPoints, g)
			}
		}
	}
	return c, nil
}

// recordUpTo records how h passed the sync points before op, and the one at op.
func (c *coordinator) recordUpTo(h *host, op int, f arrival) {
	for h.nextSyncPoint < len(h.syncPoints) && h.syncPoints[h.nextSyncPoint].op <= op {
		g := h.syncPoints[h.nextSyncPoint]
		h.nextSyncPoint++
		how := bypassed
		if g.op == op || f == lost {
			how = f
		}
		g.record(h, how)
		c.releaseWaiters(g)
	}
}

// releaseWaiters releases the hosts whose wait at g has ended. Every arrival calls it, so
// it looks at the waiters only when one of them can be released.
func (c *coordinator) releaseWaiters(g *syncPoint) {
	c.wakeNext(g)
	if g.rollout != nil {
		c.admit(g.rollout)
	}
	if !g.complete() && !g.partialWait {
		return
	}
	g.waiters = slices.DeleteFunc(g.waiters, func(w *syncWaiter) bool {
		if w.free {
			return true
		}
		ok, err := w.satisfied(g)
		if ok || err != nil {
			c.release(w.waiter, err)
		}
		return w.free
	})
}

// arrive records that h arrived at the label or barrier at op.
func (c *coordinator) arrive(h *host, op int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.recordUpTo(h, op, arrived)
}

// jump records that h continues at op and passes all sync points before it, because of a
// condition or a failure.
func (c *coordinator) jump(h *host, op int, f arrival) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.recordUpTo(h, op-1, f)
}

// barrier waits until every host of the play that is still in the run arrives at op.
func (c *coordinator) barrier(ctx context.Context, h *host, op int) error {
	c.mu.Lock()
	c.recordUpTo(h, op, arrived)
	g := c.syncPoint(h, op, h.run.prog.Ops[op].Play)
	if g.open() {
		c.mu.Unlock()
		return nil
	}
	w := newWaiter(h, g.what+g.missing())
	g.wait(w, barrierCount)
	return c.await(ctx, w)
}

// need waits until enough hosts have passed a label. ready is true when the need is already
// met; with try set, need never waits.
func (c *coordinator) need(ctx context.Context, h *host, n program.Need, try bool) (ready bool, err error) {
	c.mu.Lock()
	g := c.syncPoints[syncPointKey{n.Label.Op, nil}]
	if h.play() == n.Label.Play {
		g = c.syncPoint(h, n.Label.Op, n.Label.Play)
	}
	ok, err := g.met(n.Count)
	if ok || err != nil || try {
		c.mu.Unlock()
		return ok, err
	}
	w := newWaiter(h, g.what+g.missing())
	g.wait(w, n.Count)
	return true, c.await(ctx, w)
}

// leave removes a host from all waits. ok is true when the host came to the end of the
// program.
func (c *coordinator) leave(h *host, cause string, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	h.cause, h.leftIn = cause, h.play()
	c.active--
	if !ok {
		c.lose(h)
	}
	for _, t := range c.throttles {
		c.drop(t, h)
	}
	c.reelect(h)
	c.checkDeadlock()
}

// lose records h as lost at all sync points that it has passed or would pass.
func (c *coordinator) lose(h *host) {
	h.nextSyncPoint = len(h.syncPoints)
	for _, g := range h.syncPoints {
		f, decided := g.arrivals[h]
		if !decided || f == arrived && !g.end {
			g.record(h, lost)
			c.releaseWaiters(g)
		}
	}
}
