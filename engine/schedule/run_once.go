package schedule

import (
	"context"
	"fmt"
	"slices"

	"deployer/engine"
	"deployer/engine/program"
)

// runOnce is a run_once task. The first host in inventory order that arrives runs it, as in
// the plan; the others wait and share the outcome. The coordinator's lock guards it.
type runOnce struct {
	// syncPoint records which hosts have arrived and which never will; nil for handlers and
	// inside of throttles, where the first host to arrive runs the task: the host that has
	// the turn must not wait for one that has not.
	syncPoint *syncPoint
	owner     *host
	done      bool
	outcome   runOnceOutcome
	waiters   []*waiter
}

// runOnceKey identifies one execution of the task: handlers may run more than once, and
// every batch of a serial play runs the task.
type runOnceKey struct {
	task  *program.Task
	nth   int
	batch *batch
}

// runOnceOutcome is the outcome of a run_once task for all hosts.
type runOnceOutcome struct {
	registered map[string]any
	defined    map[string]any // the variables that it set
	// failure is set when the task failed; host and step say where.
	failure *engine.Failure
	host    string
	// tentative is set when, in check mode, registered differs from a real run.
	tentative tentative
}

// runOnceFailure describes the failure of a run_once task. runOnceFailure blames the task, not the
// elected host: every other host would have failed too.
func runOnceFailure(step, host, message string) string {
	return fmt.Sprintf("%q failed (run once, on %s): %s", step, host, message)
}

// elect makes h the owner of the task at op, or waits until the owner has completed it.
func (c *coordinator) elect(ctx context.Context, h *host, key runOnceKey, op int) (owner bool, out runOnceOutcome, err error) {
	for {
		c.mu.Lock()
		o := c.once(h, key, op)
		if o.syncPoint != nil {
			o.syncPoint.record(h, arrived)
		}
		next := o.next(h)
		switch {
		case o.done:
			c.mu.Unlock()
			return false, o.outcome, nil
		case next == h:
			o.owner = h
			c.mu.Unlock()
			return true, runOnceOutcome{}, nil
		}
		w := newWaiter(h, fmt.Sprintf("%q, which %s does for all", key.task.Name, next.name))
		o.waiters = append(o.waiters, w)
		if err := c.await(ctx, w); err != nil {
			return false, runOnceOutcome{}, err
		}
	}
}

// once finds a task's state for h.
func (c *coordinator) once(h *host, key runOnceKey, op int) *runOnce {
	o := c.runOnces[key]
	if o == nil {
		o = &runOnce{}
		if h.run.prog.Ops[op].Task == key.task { // not as a handler
			o.syncPoint = c.syncPoint(h, op, key.task.Play)
		}
		if o.syncPoint != nil {
			o.syncPoint.once = o
		}
		c.runOnces[key] = o
	}
	return o
}

// next returns the host that runs the task, now or when it arrives.
func (o *runOnce) next(here *host) *host {
	switch {
	case o.owner != nil:
		return o.owner
	case o.syncPoint == nil:
		return here
	}
	for _, h := range o.syncPoint.members {
		if f, decided := o.syncPoint.arrivals[h]; !decided || f == arrived {
			return h
		}
	}
	return here
}

// bypass records that h does not arrive at the run_once task at op.
func (c *coordinator) bypass(h *host, op int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.syncPoint(h, op, h.run.prog.Ops[op].Play)
	if g != nil && !g.has(h) {
		g.record(h, bypassed)
		c.wakeNext(g)
	}
}

// wakeNext wakes the next host for a run_once task, when the host that it waits for does
// not arrive.
func (c *coordinator) wakeNext(g *syncPoint) {
	o := g.once
	if o == nil || o.done || o.owner != nil {
		return
	}
	next := o.next(nil)
	for _, w := range o.waiters {
		if w.host == next {
			c.release(w, nil)
		}
	}
}

// electWaiting breaks a deadlock: it lets a waiting host run a run_once task without the
// hosts before it. electWaiting returns false when there is no such host.
func (c *coordinator) electWaiting() bool {
	for _, w := range c.sortedWaiters() {
		for _, o := range c.runOnces {
			if o.syncPoint != nil && o.owner == nil && !o.done && slices.Contains(o.waiters, w) {
				o.syncPoint = nil
				c.release(w, nil)
				return true
			}
		}
	}
	return false
}

// complete publishes the outcome of a run_once task.
func (c *coordinator) complete(key runOnceKey, out runOnceOutcome) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := c.runOnces[key]
	o.done, o.outcome = true, out
	c.wake(o)
}

func (c *coordinator) wake(o *runOnce) {
	for _, w := range o.waiters {
		c.release(w, nil)
	}
	o.waiters = nil
}

// reelect lets another host run a task whose owner h will not complete it.
func (c *coordinator) reelect(h *host) {
	for _, o := range c.runOnces {
		if o.owner == h && !o.done {
			o.owner = nil
			c.wake(o)
		}
	}
}
