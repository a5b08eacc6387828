package schedule

import (
	"context"
	"fmt"
	"slices"

	"deployer/engine"
	"deployer/engine/program"
)

// once is a run_once task: the first host in inventory order that comes to it does
// it, so that a run does it where the plan has shown it, and the others wait for the
// outcome and share it. It is guarded by the coord's lock.
type once struct {
	// gate tells who has come and who never will; nil for handlers and inside of
	// throttles, where the first host to come does it: who has the turn must not
	// wait for one that has not.
	gate    *gate
	owner   *host
	done    bool
	outcome outcome
	waiters []*waiter
}

// onceKey tells apart a task's runs: handlers may run more than once, and every
// batch of a serial play runs the task for itself.
type onceKey struct {
	task  *program.Task
	nth   int
	batch *batch
}

// outcome is what a run_once task left for all hosts.
type outcome struct {
	registered map[string]any
	defined    map[string]any // the variables that it set
	// failure is set when it failed; host and step say where.
	failure *engine.Failure
	host    string
	// unsure is set when, in a check, registered is not what it will be.
	unsure unsure
}

// failedForAll blames a run_once task and not the host that was elected for it:
// every other host would have failed as well.
func failedForAll(step, host, message string) string {
	return fmt.Sprintf("%q failed (run once, on %s): %s", step, host, message)
}

// elect makes h the owner of the task at op, or waits until the owner has done it.
func (c *coord) elect(ctx context.Context, h *host, key onceKey, op int) (owner bool, out outcome, err error) {
	for {
		c.mu.Lock()
		o := c.once(h, key, op)
		if o.gate != nil {
			o.gate.settle(h, passed)
		}
		next := o.next(h)
		switch {
		case o.done:
			c.mu.Unlock()
			return false, o.outcome, nil
		case next == h:
			o.owner = h
			c.mu.Unlock()
			return true, outcome{}, nil
		}
		w := newWaiter(h, fmt.Sprintf("%q, which %s does for all", key.task.Name, next.name))
		o.waiters = append(o.waiters, w)
		if err := c.await(ctx, w); err != nil {
			return false, outcome{}, err
		}
	}
}

// once finds a task's state for h.
func (c *coord) once(h *host, key onceKey, op int) *once {
	o := c.onces[key]
	if o == nil {
		o = &once{}
		if h.run.prog.Ops[op].Task == key.task { // not as a handler
			o.gate = c.gate(h, op, key.task.Play)
		}
		if o.gate != nil {
			o.gate.once = o
		}
		c.onces[key] = o
	}
	return o
}

// next is the host that does the task, now or when it comes.
func (o *once) next(here *host) *host {
	switch {
	case o.owner != nil:
		return o.owner
	case o.gate == nil:
		return here
	}
	for _, h := range o.gate.members {
		if f, decided := o.gate.fate[h]; !decided || f == passed {
			return h
		}
	}
	return here
}

// goesAround records that h does not come to the run_once task at op.
func (c *coord) goesAround(h *host, op int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.gate(h, op, h.run.prog.Ops[op].Play)
	if g != nil && !g.has(h) {
		g.settle(h, skipped)
		c.callNext(g)
	}
}

// callNext has the next one do a run_once task, when it waits for another that
// does not come.
func (c *coord) callNext(g *gate) {
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

// anyNext lets a host do a run_once task without waiting for those before it. It is
// for hosts that wait for each other; false when there is none.
func (c *coord) anyNext() bool {
	for _, w := range c.sortedWaiters() {
		for _, o := range c.onces {
			if o.gate != nil && o.owner == nil && !o.done && slices.Contains(o.waiters, w) {
				o.gate = nil
				c.release(w, nil)
				return true
			}
		}
	}
	return false
}

// complete publishes the outcome of a run_once task.
func (c *coord) complete(key onceKey, out outcome) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := c.onces[key]
	o.done, o.outcome = true, out
	c.wake(o)
}

func (c *coord) wake(o *once) {
	for _, w := range o.waiters {
		c.release(w, nil)
	}
	o.waiters = nil
}

// abandon lets another host do what h was elected for and will not finish.
func (c *coord) abandon(h *host) {
	for _, o := range c.onces {
		if o.owner == h && !o.done {
			o.owner = nil
			c.wake(o)
		}
	}
}
