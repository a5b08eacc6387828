package session

import (
	"context"
	"sync"

	"deployer/engine/remote"
)

// Pool is a Connector whose sessions outlive a run. The next run of the same program
// finds the hosts connected and locked.
type Pool struct {
	next   Connector
	mu     sync.Mutex
	idle   map[string]*remote.Session
	closed bool
}

// NewPool wraps a Connector. Close closes the sessions.
func NewPool(next Connector) *Pool {
	return &Pool{next: next, idle: map[string]*remote.Session{}}
}

// Connect implements Connector.
func (k *Pool) Connect(ctx context.Context, host string) (Session, error) {
	if s := k.take(host); s != nil {
		return &pooledSession{s, k, host}, nil
	}
	opened, err := k.next.Connect(ctx, host)
	if err != nil {
		return nil, err
	}
	if s, ok := opened.(*remote.Session); ok {
		return &pooledSession{s, k, host}, nil
	}
	return opened, nil
}

func (k *Pool) take(host string) *remote.Session {
	k.mu.Lock()
	defer k.mu.Unlock()
	s := k.idle[host]
	delete(k.idle, host)
	if s == nil || s.Err() != nil {
		return nil
	}
	return s
}

// put takes a session back, unless it is lost or the pool is closed.
func (k *Pool) put(host string, s *remote.Session) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed || s.Err() != nil || k.idle[host] != nil {
		return false
	}
	k.idle[host] = s
	return true
}

// Close closes all idle sessions, and those in use when they are returned.
func (k *Pool) Close() {
	k.mu.Lock()
	k.closed = true
	idle := k.idle
	k.idle = nil
	k.mu.Unlock()
	var all sync.WaitGroup
	for _, s := range idle {
		all.Go(func() { _ = s.Close() })
	}
	all.Wait()
}

// pooledSession returns to the pool on Close.
type pooledSession struct {
	*remote.Session
	pool *Pool
	host string
}

// Close implements Session.
func (s *pooledSession) Close() error {
	if s.pool.put(s.host, s.Session) {
		return nil
	}
	return s.Session.Close()
}
