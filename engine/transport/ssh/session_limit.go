package ssh

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	gossh "golang.org/x/crypto/ssh"

	"deployer/engine/transport"
)

// sessionLimit counts the open sessions of a connection.
type sessionLimit struct {
	mu    sync.Mutex
	open  int
	ended chan struct{} // closed when one ends
}

func (s *sessionLimit) acquire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open++
}

func (s *sessionLimit) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open--
	if s.ended != nil {
		close(s.ended)
		s.ended = nil
	}
}

// running returns the number of open sessions, and a channel that is closed when one
// ends.
func (s *sessionLimit) running() (int, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended == nil {
		s.ended = make(chan struct{})
	}
	return s.open, s.ended
}

// A server takes a moment to free the place of a session that has ended.
const (
	slotPause    = 50 * time.Millisecond
	slotPatience = 3 * time.Second
)

// openSession opens a session. When the server refuses because of its limit
// (MaxSessions), openSession waits until one of this connection's sessions has
// ended.
func (c *Conn) openSession(ctx context.Context) (*gossh.Session, error) {
	var idle time.Time // since when the server refuses although no session is open
	for {
		session, err := c.client.NewSession()
		if err == nil {
			c.sessions.acquire()
			return session, nil
		}
		var refused *gossh.OpenChannelError
		if !errors.As(err, &refused) {
			// The connection has ended: the library reports an unexpected packet.
			return nil, c.fail(transport.StageSession, err, transport.Lost)
		}
		running, ended := c.sessions.running()
		switch {
		case running > 0:
			idle = time.Time{}
		case idle.IsZero():
			idle = time.Now()
		case time.Since(idle) > slotPatience:
			return nil, &transport.Error{Host: c.host, Stage: transport.StageSession, Kind: transport.Config,
				Err: fmt.Errorf("the server opens no session: %w", err), Advice: "allow sessions to the user in the host's sshd_config (MaxSessions)"}
		}
		if err := pause(ctx, running > 0, ended); err != nil {
			return nil, err
		}
	}
}

// pause waits for a session to end, or for a moment when there is none.
func pause(ctx context.Context, wait bool, ended <-chan struct{}) error {
	var moment <-chan time.Time
	if !wait {
		moment = time.After(slotPause)
	}
	select {
	case <-ended:
	case <-moment:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}
