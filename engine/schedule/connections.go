package schedule

import (
	"context"
	"errors"
	"sync"

	"deployer/engine/program"
)

// connections holds the connections of a run: to its hosts, and to machines outside the run
// to which steps are delegated.
type connections struct {
	mu  sync.Mutex
	all map[string]*connection
}

// host returns the connection to a host of the inventory.
func (ls *connections) host(r *run, name string) *connection {
	return ls.getOrCreate(r, name, func(ctx context.Context) (Host, error) { return r.opts.Connector.Connect(ctx, name) })
}

// local returns the connection to the machine of the controller.
func (ls *connections) local(r *run) *connection {
	return ls.getOrCreate(r, program.Localhost, func(ctx context.Context) (Host, error) {
		if r.opts.Local == nil {
			return nil, errors.New("this run can do nothing on the machine that deployer runs on")
		}
		return r.opts.Local.Connect(ctx, program.Localhost)
	})
}

func (ls *connections) getOrCreate(r *run, name string, connect func(context.Context) (Host, error)) *connection {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	l := ls.all[name]
	if l == nil {
		if ls.all == nil {
			ls.all = map[string]*connection{}
		}
		l = &connection{run: r, name: name, connect: connect, delegated: newSemaphore(maxDelegated)}
		ls.all[name] = l
	}
	return l
}

// close closes all sessions.
func (ls *connections) close() {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	var all sync.WaitGroup
	for _, l := range ls.all {
		all.Go(func() { l.drop(l.live()) })
	}
	all.Wait()
}
