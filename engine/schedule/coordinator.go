package schedule

import (
	"context"
	"slices"
	"sync"

	"deployer/engine/program"
)

// coordinator is where hosts wait for each other. One lock guards all of it; nothing
// slow is done under it.
type coordinator struct {
	mu         sync.Mutex
	syncPoints map[syncPointKey]*syncPoint
	// throttles and onces are made when the first host comes.
	throttles map[any]*throttle
	runOnces  map[runOnceKey]*runOnce
	// active counts the hosts that work; when it is 0 while some wait, nothing
	// can ever move again.
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

// recordUpTo records how h went past the gates before op, and at op itself when
// it is one.
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

// releaseWaiters releases those whose wait at g is over. It is called for each host that
// comes, so it does not go through all who wait as long as none can be released.
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

// arrive records that h came to the label or barrier at op.
func (c *coordinator) arrive(h *host, op int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.recordUpTo(h, op, arrived)
}

// jump records that h goes on at op, past all gates before it: because of a
// condition, or because of a failure.
func (c *coordinator) jump(h *host, op int, f arrival) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.recordUpTo(h, op-1, f)
}

// barrier waits until every live host of the play has come to op.
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

// need waits until enough hosts have passed a label. ready is true when there
// is nothing to wait for; with try it returns at once.
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

// leave takes a host out: nobody waits for it any more. ok is true when it came
// to the end of the program.
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
	c.checkStall()
}

// lose turns everything that h passed, or would have, into lost.
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
