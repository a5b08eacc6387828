package schedule

import (
	"context"
	"slices"
	"sync"

	"deployer/engine/program"
)

// coord is where hosts wait for each other. One lock guards all of it; nothing
// slow is done under it.
type coord struct {
	mu    sync.Mutex
	gates map[gateKey]*gate
	// throttles and onces are made when the first host comes.
	throttles map[any]*throttle
	onces     map[onceKey]*once
	// active counts the hosts that work; when it is 0 while some wait, nothing
	// can ever move again.
	active  int
	waiting map[*waiter]struct{}
}

func newCoord(r *run) (*coord, error) {
	c := &coord{gates: map[gateKey]*gate{}, active: len(r.hosts), waiting: map[*waiter]struct{}{},
		throttles: map[any]*throttle{}, onces: map[onceKey]*once{}}
	for i := range r.prog.Ops {
		gates, err := r.gatesAt(i)
		if err != nil {
			return nil, err
		}
		for _, g := range gates {
			c.gates[g.gateKey] = g
			for _, h := range g.members {
				h.gates = append(h.gates, g)
			}
		}
	}
	return c, nil
}

// settle records how h went past the gates before op, and at op itself when
// it is one.
func (c *coord) settle(h *host, op int, f fate) {
	for h.nextGate < len(h.gates) && h.gates[h.nextGate].op <= op {
		g := h.gates[h.nextGate]
		h.nextGate++
		how := skipped
		if g.op == op || f == lost {
			how = f
		}
		g.settle(h, how)
		c.look(g)
	}
}

// look releases those whose wait at g is over. It is called for each host that
// comes, so it does not go through all who wait as long as none can be released.
func (c *coord) look(g *gate) {
	c.callNext(g)
	if g.rollout != nil {
		c.admit(g.rollout)
	}
	if !g.decided() && !g.some {
		return
	}
	g.waiters = slices.DeleteFunc(g.waiters, func(w *gateWaiter) bool {
		if w.free {
			return true
		}
		ok, err := w.over(g)
		if ok || err != nil {
			c.release(w.waiter, err)
		}
		return w.free
	})
}

// pass records that h came to the label or barrier at op.
func (c *coord) pass(h *host, op int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settle(h, op, passed)
}

// jump records that h goes on at op, past all gates before it: because of a
// condition, or because of a failure.
func (c *coord) jump(h *host, op int, f fate) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settle(h, op-1, f)
}

// barrier waits until every live host of the play has come to op.
func (c *coord) barrier(ctx context.Context, h *host, op int) error {
	c.mu.Lock()
	c.settle(h, op, passed)
	g := c.gate(h, op, h.run.prog.Ops[op].Play)
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
func (c *coord) need(ctx context.Context, h *host, n program.Need, try bool) (ready bool, err error) {
	c.mu.Lock()
	g := c.gates[gateKey{n.Label.Op, nil}]
	if h.play() == n.Label.Play {
		g = c.gate(h, n.Label.Op, n.Label.Play)
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
func (c *coord) leave(h *host, cause string, ok bool) {
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
	c.abandon(h)
	c.checkStall()
}

// lose turns everything that h passed, or would have, into lost.
func (c *coord) lose(h *host) {
	h.nextGate = len(h.gates)
	for _, g := range h.gates {
		f, decided := g.fate[h]
		if !decided || f == passed && !g.end {
			g.settle(h, lost)
			c.look(g)
		}
	}
}
