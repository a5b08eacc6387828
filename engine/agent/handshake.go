package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"deployer/engine/agent/statedir"
	"deployer/engine/protocol"
	"deployer/engine/sanitize"
)

// handshakeWithTimeout exchanges hellos and returns the controller's. handshakeWithTimeout fails after
// two idle timeouts (protocol.DefaultIdleTimeout), so that no agent waits forever on a
// host.
func (s *server) handshakeWithTimeout(ctx context.Context) (protocol.HelloMessage, error) {
	type outcome struct {
		hello protocol.HelloMessage
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		hello, err := s.handshake()
		if err != nil {
			_ = s.conn.SendJSON(protocol.Bye, 0, protocol.EndMessage{Error: sanitize.CutStart(err.Error(), maxText)})
		}
		done <- outcome{hello, err}
	}()
	select {
	case o := <-done:
		return o.hello, o.err
	case <-time.After(2 * protocol.DefaultIdleTimeout):
		return protocol.HelloMessage{}, fmt.Errorf("waiting for the controller's hello: none came within %v", 2*protocol.DefaultIdleTimeout)
	case <-ctx.Done():
		return protocol.HelloMessage{}, context.Cause(ctx)
	}
}

// handshake sends the agent's hello and receives the controller's. A
// *protocol.Error says that the versions differ or the first message is no
// hello.
func (s *server) handshake() (protocol.HelloMessage, error) {
	var hello protocol.HelloMessage
	about, err := json.Marshal(s.opts.Facts())
	if err != nil {
		return hello, fmt.Errorf("encoding facts: %w", err)
	}
	mine := protocol.HelloMessage{Version: protocol.Version, Facts: about, UID: os.Getuid(), PID: os.Getpid()}
	var unknown *statedir.FormatError
	if mine.PendingHandlers, err = s.state.PendingHandlers(); errors.As(err, &unknown) {
		return hello, err
	} // any other error counts as no pending handlers
	if err := s.conn.SendJSON(protocol.Hello, 0, mine); err != nil {
		return hello, err
	}
	f, err := s.conn.Receive()
	if err != nil {
		return hello, fmt.Errorf("waiting for the controller's hello: %w", err)
	}
	if f.Type != protocol.Hello {
		return hello, &protocol.Error{Reason: fmt.Sprintf("the first message is %v, want hello", f.Type)}
	}
	if err := f.Decode(&hello); err != nil {
		return hello, err
	}
	return hello, hello.CheckVersion()
}

// heartbeatOf returns the controller's heartbeat interval and idle timeout, and the
// defaults for values that make no sense.
func heartbeatOf(h protocol.HelloMessage) (interval, idle time.Duration) {
	interval, idle = time.Duration(h.Heartbeat)*time.Millisecond, time.Duration(h.IdleTimeout)*time.Millisecond
	if interval <= 0 || idle <= interval {
		return protocol.DefaultHeartbeat, protocol.DefaultIdleTimeout
	}
	return interval, idle
}
