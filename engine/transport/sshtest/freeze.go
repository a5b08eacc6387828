package sshtest

import (
	"net"
	"sync"
	"time"
)

// Freeze stops or resumes the network: no byte is transferred while it is frozen, and no
// connection is closed.
func (s *Server) Freeze(frozen bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.frozen = frozen
}

func (s *Server) isFrozen() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.frozen
}

// freezable is a connection that Freeze can stop.
type freezable struct {
	net.Conn
	server *Server
	once   sync.Once
	closed chan struct{}
}

func (f *freezable) Read(p []byte) (int, error) {
	n, err := f.Conn.Read(p)
	f.thaw()
	return n, err
}

func (f *freezable) Write(p []byte) (int, error) {
	f.thaw()
	return f.Conn.Write(p)
}

func (f *freezable) Close() error {
	f.once.Do(func() { close(f.closed) })
	return f.Conn.Close()
}

// thaw waits until the network is resumed.
func (f *freezable) thaw() {
	for f.server.isFrozen() {
		select {
		case <-f.closed:
			return
		case <-time.After(5 * time.Millisecond):
		}
	}
}
