package schedule

import (
	"context"
	"fmt"
	"slices"

	"deployer/engine/program"
)

// throttle bounds the number of hosts inside of a task or block; hosts enter in the order
// in which they came. The coordinator's lock guards it.
type throttle struct {
	what   string
	inside map[*host]bool
	queue  []*throttleWaiter
}

type throttleWaiter struct {
	*waiter
	limit int
}

// enter waits until fewer than limit hosts are inside. key is the task or block of the
// program.
func (c *coordinator) enter(ctx context.Context, h *host, key any, what string, limit int) error {
	c.mu.Lock()
	t := c.throttles[key]
	if t == nil {
		t = &throttle{what: what, inside: map[*host]bool{}}
		c.throttles[key] = t
	}
	if limit == 0 || len(t.queue) == 0 && len(t.inside) < limit {
		t.inside[h] = true
		c.mu.Unlock()
		return nil
	}
	w := &throttleWaiter{limit: limit, waiter: newWaiter(h,
		fmt.Sprintf("its turn in %s (%d at a time)", what, limit))}
	t.queue = append(t.queue, w)
	return c.await(ctx, w.waiter)
}

// exit takes a host out; no effect for a host that is not inside.
func (c *coordinator) exit(h *host, key any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.throttles[key]; t != nil {
		c.drop(t, h)
	}
}

// exitInside takes a host out of the throttles of the tasks and blocks inside of b.
func (c *coordinator) exitInside(h *host, b *program.Block) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, t := range c.throttles {
		if t.inside[h] && !encloses(key, b) {
			c.drop(t, h)
		}
	}
}

// encloses reports whether the key of a throttle is b or a block around b.
func encloses(key any, b *program.Block) bool {
	for ; b != nil; b = b.Parent {
		if key == any(b) {
			return true
		}
	}
	return false
}

// drop takes a host out of a throttle and admits the next hosts.
func (c *coordinator) drop(t *throttle, h *host) {
	delete(t.inside, h)
	t.queue = slices.DeleteFunc(t.queue, func(w *throttleWaiter) bool { return w.free || w.host == h })
	for len(t.queue) > 0 && len(t.inside) < t.queue[0].limit {
		w := t.queue[0]
		t.queue = t.queue[1:]
		t.inside[w.host] = true
		c.release(w.waiter, nil)
	}
}
