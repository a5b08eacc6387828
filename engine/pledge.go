package engine

import (
	"context"
	"slices"
	"sync"
)

// Pledge is something that an action has opened on behalf of a host, and that a
// later step of the run is to close: a node that takes no pods while it is
// worked on.
type Pledge struct {
	// Name says what is open; only one pledge has that name.
	Name string
	// Keep closes it in place of the step that will not come. When it has to stay
	// open, left says what is left and what to do about it. It must return soon
	// after ctx has ended.
	Keep func(ctx context.Context) (done, left string)
}

// Pledges are those of a run, a service that the scheduler provides. When a host
// leaves the run before it has come to its end, whatever the reason, the
// scheduler keeps what is pledged for it. The nil value has none and takes none.
type Pledges struct {
	mu sync.Mutex
	of map[string][]Pledge
}

// Give adds a pledge for a host, in place of one that has the same name.
func (p *Pledges) Give(host string, pledge Pledge) {
	if p == nil {
		return
	}
	p.Drop(pledge.Name)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of == nil {
		p.of = map[string][]Pledge{}
	}
	p.of[host] = append(p.of[host], pledge)
}

// Drop takes a pledge back, because what was open is closed, and tells whether
// there was one.
func (p *Pledges) Drop(name string) bool {
	if p == nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	found := false
	for host, list := range p.of {
		p.of[host] = slices.DeleteFunc(list, func(one Pledge) bool {
			found = found || one.Name == name
			return one.Name == name
		})
	}
	return found
}

// Take returns the pledges for a host, the last first, and forgets them.
func (p *Pledges) Take(host string) []Pledge {
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

// Yielder is implemented by actions whose Apply may be cut short when the run is
// to be stopped, as it then takes back what it has begun.
type Yielder interface{ Yields() bool }
