package schedule

import (
	"context"
	"errors"
	"sync"

	"deployer/engine/program"
)

// links are the connections of a run: to its hosts, and to machines that are not
// in the run but that steps are delegated to.
type links struct {
	mu  sync.Mutex
	all map[string]*link
}

// of returns the link to a host of the inventory.
func (ls *links) of(r *run, name string) *link {
	return ls.make(r, name, func(ctx context.Context) (Host, error) { return r.opts.Connector.Connect(ctx, name) })
}

// local returns the link to the machine that deployer runs on.
func (ls *links) local(r *run) *link {
	return ls.make(r, program.Localhost, func(ctx context.Context) (Host, error) {
		if r.opts.Local == nil {
			return nil, errors.New("this run can do nothing on the machine that deployer runs on")
		}
		return r.opts.Local.Connect(ctx, program.Localhost)
	})
}

func (ls *links) make(r *run, name string, connect func(context.Context) (Host, error)) *link {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	l := ls.all[name]
	if l == nil {
		if ls.all == nil {
			ls.all = map[string]*link{}
		}
		l = &link{run: r, name: name, connect: connect, guests: newSlots(maxGuests)}
		ls.all[name] = l
	}
	return l
}

// close ends all sessions.
func (ls *links) close() {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	var all sync.WaitGroup
	for _, l := range ls.all {
		all.Go(func() { l.drop(l.live()) })
	}
	all.Wait()
}
