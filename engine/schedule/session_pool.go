package schedule

import (
	"context"
	"sync"

	"deployer/engine/remote"
)

// SessionPool is a Connector whose sessions outlive a run. The next run of the same program
// finds the hosts connected and locked.
type SessionPool struct {
	next   Connector
	mu     sync.Mutex
	idle   map[string]*remote.Session
	closed bool
}

// NewSessionPool wraps a Connector. Close closes the sessions.
func NewSessionPool(next Connector) *SessionPool {
	return &SessionPool{next: next, idle: map[string]*remote.Session{}}
}

// Connect implements Connector.
func (k *SessionPool) Connect(ctx context.Context, host string) (Host, error) {
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

func (k *SessionPool) take(host string) *remote.Session {
	k.mu.Lock()
	defer k.mu.Unlock()
	s := k.idle[host]
	delete(k.idle, host)
	if s == nil || isLost(s) {
		return nil
	}
	return s
}

func isLost(s *remote.Session) bool { return s.Err() != nil }

// put takes a session back, unless it is lost or the pool is closed.
func (k *SessionPool) put(host string, s *remote.Session) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed || isLost(s) || k.idle[host] != nil {
		return false
	}
	k.idle[host] = s
	return true
}

// Close closes all idle sessions, and those in use when they are returned.
func (k *SessionPool) Close() {
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
	pool *SessionPool
	host string
}

// Close implements Host.
func (s *pooledSession) Close() error {
	if s.pool.put(s.host, s.Session) {
		return nil
	}
	return s.Session.Close()
}
