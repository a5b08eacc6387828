package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"deployer/engine/wire"
)

// handshakeWithTimeout exchanges hellos and returns the controller's. It fails after
// two idle timeouts (wire.DefaultIdleTimeout), so that no agent waits forever on a
// host.
func (s *server) handshakeWithTimeout(ctx context.Context) (wire.HelloMessage, error) {
	type outcome struct {
		hello wire.HelloMessage
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		hello, err := s.handshake()
		if err != nil {
			_ = s.conn.SendJSON(wire.Bye, 0, wire.EndMessage{Error: cut(err.Error(), maxText)})
		}
		done <- outcome{hello, err}
	}()
	select {
	case o := <-done:
		return o.hello, o.err
	case <-time.After(2 * wire.DefaultIdleTimeout):
		return wire.HelloMessage{}, fmt.Errorf("waiting for the controller's hello: none came within %v", 2*wire.DefaultIdleTimeout)
	case <-ctx.Done():
		return wire.HelloMessage{}, context.Cause(ctx)
	}
}

// handshake sends the agent's hello and receives the controller's. A
// *wire.ProtocolError says that the versions differ or the first message is no
// hello.
func (s *server) handshake() (wire.HelloMessage, error) {
	var hello wire.HelloMessage
	about, err := json.Marshal(s.opts.Facts())
	if err != nil {
		return hello, fmt.Errorf("encoding facts: %w", err)
	}
	mine := wire.HelloMessage{Version: wire.Version, Facts: about, UID: os.Getuid(), PID: os.Getpid()}
	var unknown *formatError
	if mine.PendingHandlers, err = s.state.pendingHandlers(); errors.As(err, &unknown) {
		return hello, err
	} // any other error counts as no pending handlers
	if err := s.conn.SendJSON(wire.Hello, 0, mine); err != nil {
		return hello, err
	}
	f, err := s.conn.Receive()
	if err != nil {
		return hello, fmt.Errorf("waiting for the controller's hello: %w", err)
	}
	if f.Type != wire.Hello {
		return hello, &wire.ProtocolError{Reason: fmt.Sprintf("the first message is %v, want hello", f.Type)}
	}
	if err := f.Decode(&hello); err != nil {
		return hello, err
	}
	return hello, hello.CheckVersion()
}

// heartbeatOf returns the controller's heartbeat interval and idle timeout, and the
// defaults for values that make no sense.
func heartbeatOf(h wire.HelloMessage) (interval, idle time.Duration) {
	interval, idle = time.Duration(h.Heartbeat)*time.Millisecond, time.Duration(h.IdleTimeout)*time.Millisecond
	if interval <= 0 || idle <= interval {
		return wire.DefaultHeartbeat, wire.DefaultIdleTimeout
	}
	return interval, idle
}
