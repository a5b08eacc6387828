package engine

import (
	"context"
	"slices"
	"sync"
)

// Cleanup undoes a temporary state that an action has set for a host and that a later
// step of the run is to end: a node that is cordoned while it is changed.
type Cleanup struct {
	// Name identifies the state; a run has one cleanup of a name.
	Name string
	// Run ends the state when the later step does not run. done describes what it did;
	// left, when it could not end the state, describes the state and how to end it. Run
	// must return soon after ctx has ended.
	Run func(ctx context.Context) (done, left string)
}

// Cleanups holds the cleanups of a run, a service that the scheduler provides. When a
// host leaves the run before its end, for whatever reason, the scheduler runs the
// cleanups that are registered for it. The nil value ignores all calls. Cleanups is safe for
// concurrent use.
type Cleanups struct {
	mu     sync.Mutex
	byHost map[string][]Cleanup
}

// Register adds a cleanup for a host and replaces one of the same name.
func (c *Cleanups) Register(host string, cleanup Cleanup) {
	if c == nil {
		return
	}
	c.Cancel(cleanup.Name)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byHost == nil {
		c.byHost = map[string][]Cleanup{}
	}
	c.byHost[host] = append(c.byHost[host], cleanup)
}

// Cancel removes a cleanup, because its state has ended, and reports whether it was
// registered.
func (c *Cleanups) Cancel(name string) bool {
	if c == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	found := false
	for host, list := range c.byHost {
		c.byHost[host] = slices.DeleteFunc(list, func(one Cleanup) bool {
			found = found || one.Name == name
			return one.Name == name
		})
	}
	return found
}

// Take removes and returns the cleanups of a host, the latest first.
func (c *Cleanups) Take(host string) []Cleanup {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	list := c.byHost[host]
	delete(c.byHost, host)
	slices.Reverse(list)
	return list
}

// Cancellable is implemented by actions whose Apply can be cancelled when the run is
// stopped, because it undoes what it has begun.
type Cancellable interface{ Cancellable() bool }
