package schedule

import (
	"context"
	"fmt"
	"slices"

	"deployer/engine"
	"deployer/engine/program"
)

// runOnce is a run_once task: the first host in inventory order that comes to it does
// it, so that a run does it where the plan has shown it, and the others wait for the
// outcome and share it. It is guarded by the coord's lock.
type runOnce struct {
	// syncPoint tells who has come and who never will; nil for handlers and inside of
	// throttles, where the first host to come does it: who has the turn must not
	// wait for one that has not.
	syncPoint *syncPoint
	owner     *host
	done      bool
	outcome   runOnceOutcome
	waiters   []*waiter
}

// runOnceKey tells apart a task's runs: handlers may run more than once, and every
// batch of a serial play runs the task for itself.
type runOnceKey struct {
	task  *program.Task
	nth   int
	batch *batch
}

// runOnceOutcome is what a run_once task left for all hosts.
type runOnceOutcome struct {
	registered map[string]any
	defined    map[string]any // the variables that it set
	// failure is set when it failed; host and step say where.
	failure *engine.Failure
	host    string
	// tentative is set when, in a check, registered is not what it will be.
	tentative tentative
}

// runOnceFailure blames a run_once task and not the host that was elected for it:
// every other host would have failed as well.
func runOnceFailure(step, host, message string) string {
	return fmt.Sprintf("%q failed (run once, on %s): %s", step, host, message)
}

// elect makes h the owner of the task at op, or waits until the owner has done it.
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

// next is the host that does the task, now or when it comes.
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

// bypass records that h does not come to the run_once task at op.
func (c *coordinator) bypass(h *host, op int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.syncPoint(h, op, h.run.prog.Ops[op].Play)
	if g != nil && !g.has(h) {
		g.record(h, bypassed)
		c.wakeNext(g)
	}
}

// wakeNext has the next one do a run_once task, when it waits for another that
// does not come.
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

// electWaiting lets a host do a run_once task without waiting for those before it. It is
// for hosts that wait for each other; false when there is none.
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

// reelect lets another host do what h was elected for and will not finish.
func (c *coordinator) reelect(h *host) {
	for _, o := range c.runOnces {
		if o.owner == h && !o.done {
			o.owner = nil
			c.wake(o)
		}
	}
}
