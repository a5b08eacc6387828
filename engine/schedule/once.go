package schedule

import (
	"context"
	"fmt"

	"deployer/engine"
	"deployer/engine/playbook"
)

// once is a run_once task: the first host to come does it, the others wait for
// the outcome and share it. It is guarded by the coord's lock.
type once struct {
	owner   *host
	done    bool
	outcome outcome
	waiters []*waiter
}

// onceKey tells apart a task's runs: handlers may run more than once, and every
// batch of a serial play runs the task for itself.
type onceKey struct {
	task  *playbook.Task
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

// elect makes h the owner of the task, or waits until the owner has done it.
func (c *coord) elect(ctx context.Context, h *host, key onceKey) (owner bool, out outcome, err error) {
	for {
		c.mu.Lock()
		o := c.onces[key]
		if o == nil {
			o = &once{}
			c.onces[key] = o
		}
		switch {
		case o.done:
			c.mu.Unlock()
			return false, o.outcome, nil
		case o.owner == nil:
			o.owner = h
			c.mu.Unlock()
			return true, outcome{}, nil
		}
		w := newWaiter(h, fmt.Sprintf("%q, which %s does for all", key.task.Name, o.owner.name))
		o.waiters = append(o.waiters, w)
		if err := c.await(ctx, w); err != nil {
			return false, outcome{}, err
		}
	}
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
