package engine

import (
	"context"
	"slices"
	"sync"
)

// Cleanup is something that an action has opened on behalf of a host, and that a
// later step of the run is to close: a node that takes no pods while it is
// worked on.
type Cleanup struct {
	// Name says what is open; only one pledge has that name.
	Name string
	// Run closes it in place of the step that will not come. When it has to stay
	// open, left says what is left and what to do about it. It must return soon
	// after ctx has ended.
	Run func(ctx context.Context) (done, left string)
}

// Cleanups are those of a run, a service that the scheduler provides. When a host
// leaves the run before it has come to its end, whatever the reason, the
// scheduler keeps what is pledged for it. The nil value has none and takes none.
type Cleanups struct {
	mu sync.Mutex
	of map[string][]Cleanup
}

// Register adds a pledge for a host, in place of one that has the same name.
func (p *Cleanups) Register(host string, pledge Cleanup) {
	if p == nil {
		return
	}
	p.Cancel(pledge.Name)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of == nil {
		p.of = map[string][]Cleanup{}
	}
	p.of[host] = append(p.of[host], pledge)
}

// Cancel takes a pledge back, because what was open is closed, and tells whether
// there was one.
func (p *Cleanups) Cancel(name string) bool {
	if p == nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	found := false
	for host, list := range p.of {
		p.of[host] = slices.DeleteFunc(list, func(one Cleanup) bool {
			found = found || one.Name == name
			return one.Name == name
		})
	}
	return found
}

// Take returns the pledges for a host, the last first, and forgets them.
func (p *Cleanups) Take(host string) []Cleanup {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	list := p.of[host]
	delete(p.of, host)
	slices.Reverse(list)
	return list
}

// Cancellable is implemented by actions whose Apply may be cut short when the run is
// to be stopped, as it then takes back what it has begun.
type Cancellable interface{ Cancellable() bool }
