package schedule

import (
	"context"
	"sync"
)

// links are the connections of a run.
type links struct {
	mu  sync.Mutex
	all map[string]*link
}

// of returns the link to a host of the inventory.
func (ls *links) of(r *run, name string) *link {
	return ls.make(r, name, func(ctx context.Context) (Host, error) { return r.opts.Connector.Connect(ctx, name) })
}

func (ls *links) make(r *run, name string, connect func(context.Context) (Host, error)) *link {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	l := ls.all[name]
	if l == nil {
		if ls.all == nil {
			ls.all = map[string]*link{}
		}
		l = &link{run: r, name: name, connect: connect}
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
