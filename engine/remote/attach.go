package remote

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"

	"deployer/engine/protocol"
	"deployer/engine/sanitize"
)

// transportHooks are the functions that a session needs of the transport below it.
type transportHooks struct {
	// dial connects to an address as the host sees it.
	dial func(ctx context.Context, network, address string) (net.Conn, error)
	// explainEnd returns the error for the end of the streams.
	explainEnd func() error
	// close closes the transport.
	close func() error
}

// hooks returns the hooks of a session over the connector's transport.
func (c *connector) hooks(t *probe) transportHooks {
	return transportHooks{
		dial: c.conn.Dial,
		explainEnd: func() error {
			if err := c.conn.Err(); err != nil {
				return err
			}
			return fmt.Errorf("the agent has exited%s", c.hostOutput(c.finalOutput(t)))
		},
		close: c.conn.Close,
	}
}

// open exchanges hellos and starts the session's goroutines.
func open(r io.Reader, w io.Writer, opts Options, below transportHooks) (*Session, error) {
	conn := protocol.NewConn(r, w, protocol.ControllerEnd)
	f, err := conn.Receive()
	if err != nil {
		return nil, fmt.Errorf("waiting for the agent's hello: %w", err)
	}
	if f.Type == protocol.Bye {
		return nil, byeError(f)
	}
	if f.Type != protocol.Hello {
		return nil, &protocol.Error{Reason: fmt.Sprintf("the first message is %v, want hello", f.Type)}
	}
	var hello protocol.HelloMessage
	if err := f.Decode(&hello); err != nil {
		return nil, err
	}
	if err := hello.CheckVersion(); err != nil {
		return nil, err
	}
	s := &Session{opts: opts, conn: conn, hooks: below, pid: hello.PID, segments: map[uint32]*segment{},
		uploads: map[uint32]*upload{}, pages: pendingRequests[protocol.JournalMessage]{},
		locks: pendingRequests[protocol.LockMessage]{}, records: pendingRequests[protocol.RecordMessage]{},
		results: budget{limit: maxWaiting}, texts: budget{limit: maxWaitingText}}
	if err := json.Unmarshal(hello.Facts, &s.facts); err != nil {
		return nil, &protocol.Error{Reason: fmt.Sprintf("facts: %v", err)}
	}
	sanitizeFacts(&s.facts)
	s.pendingHandlers = hello.PendingHandlers
	mine := protocol.HelloMessage{Version: protocol.Version, Heartbeat: opts.Heartbeat.Milliseconds(), IdleTimeout: opts.IdleTimeout.Milliseconds()}
	if err := conn.SendJSON(protocol.Hello, 0, mine); err != nil {
		return nil, err
	}
	if opts.Peers != nil {
		s.member = opts.Peers.Attach(opts.Host)
	}
	s.ctx, s.stop = context.WithCancelCause(context.Background())
	s.idle.Go(func() { s.end(s.receive()) })
	s.idle.Go(func() {
		if err := conn.RunHeartbeat(s.ctx, opts.Heartbeat, opts.IdleTimeout); err != nil {
			s.end(err)
		}
	})
	return s, nil
}

// byeError returns the error for a good-bye of the agent.
func byeError(f protocol.Frame) error {
	var m protocol.EndMessage
	if err := f.Decode(&m); err != nil {
		return err
	}
	return fmt.Errorf("the agent has ended the session: %s", sanitize.Text(m.Error))
}
