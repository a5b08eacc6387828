package session

import (
	"context"
	"errors"
	"sync"

	"deployer/engine"
)

// Options configure the connections of a run. All fields but Local, Lock and Recorder are
// required.
type Options struct {
	Connector Connector
	// Local opens sessions on the controller's machine; nil when that is not possible.
	Local Connector
	Retry Retry
	// Lock configures the run lock; nil locks no host.
	Lock *LockOptions
	// Recorder gets the sessions with all hosts.
	Recorder Recorder
	// Semaphore bounds the number of attempts to connect in flight.
	Semaphore *Semaphore
	// Emit takes the events host.retry, wait and warning.
	Emit func(engine.Event)
	// Stop ends when the run must end after the steps in flight; its cause is the reason.
	Stop context.Context
	// Abort ends Stop with a cause.
	Abort func(cause error)
}

// Connections holds the connections of a run: to its hosts, and to machines outside the run
// to which steps are delegated. Connections is safe for concurrent use.
type Connections struct {
	opts   Options
	lock   *runLock
	guards []*Connection // those that are not hosts of the run
	over   chan struct{} // closed by EndLock
	held   sync.WaitGroup

	mu  sync.Mutex
	all map[string]*Connection
}

// Open returns the connections of a run on hosts. Open connects to nothing yet. The run lock
// is for these hosts and for its guards.
func Open(opts Options, hosts []string) *Connections {
	opts.Retry = opts.Retry.WithDefaults()
	ls := &Connections{opts: opts, over: make(chan struct{}), all: map[string]*Connection{}}
	if opts.Lock == nil {
		return ls
	}
	locked := map[*Connection]bool{}
	for _, name := range hosts {
		locked[ls.Host(name)] = true
	}
	for _, name := range opts.Lock.Guards {
		if l := ls.Host(name); !locked[l] {
			locked[l] = true
			ls.guards = append(ls.guards, l)
		}
	}
	ls.lock = newRunLock(opts, locked)
	return ls
}

// Host returns the connection to a host of the inventory.
func (ls *Connections) Host(name string) *Connection {
	return ls.getOrCreate(name, func(ctx context.Context) (Session, error) { return ls.opts.Connector.Connect(ctx, name) })
}

// Local returns the connection to the machine of the controller, under a name.
func (ls *Connections) Local(name string) *Connection {
	return ls.getOrCreate(name, func(ctx context.Context) (Session, error) {
		if ls.opts.Local == nil {
			return nil, errors.New("this run can do nothing on the machine that deployer runs on")
		}
		return ls.opts.Local.Connect(ctx, name)
	})
}

func (ls *Connections) getOrCreate(name string, connect func(context.Context) (Session, error)) *Connection {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	l := ls.all[name]
	if l == nil {
		l = &Connection{run: ls, name: name, connect: connect, Delegated: NewSemaphore(MaxDelegated)}
		ls.all[name] = l
	}
	return l
}

// Close closes all sessions.
func (ls *Connections) Close() {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	var all sync.WaitGroup
	for _, l := range ls.all {
		all.Go(func() { l.Drop(l.Live()) })
	}
	all.Wait()
}
