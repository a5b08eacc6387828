package remote

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"deployer/engine/transport"
)

// Connect makes the agent run on the host at the other end of conn and returns
// the session with it. The session owns conn; after an error it is closed.
//
// Errors are *transport.Error, or the cause of ctx when that ended first.
func Connect(ctx context.Context, conn transport.Conn, opts Options) (*Session, error) {
	opts = opts.withDefaults()
	c := &connector{conn: conn, opts: opts, started: time.Now(), marker: "deployer-" + rand.Text()}
	s, err := c.connect(ctx)
	if err == nil {
		return s, nil
	}
	if isStreamEnd(err) {
		// The end of a stream is seen before that of the connection.
		select {
		case <-conn.Lost():
		case <-time.After(200 * time.Millisecond):
		}
	}
	if lost := conn.Err(); lost != nil {
		err = lost
	}
	_ = conn.Close()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return nil, transport.Classify(opts.Host, transport.StageAgent, err, transport.Config)
}

func isStreamEnd(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.ErrClosedPipe) || errors.Is(err, net.ErrClosed)
}

// connector is one attempt at a host, of a few talks with it.
type connector struct {
	conn     transport.Conn
	opts     Options
	started  time.Time
	marker   string
	sent     int  // bytes of the program, if it was sent
	reverify bool // an agent that was there did not start
	terminal bool // sudo wants one
}

// errAgentBroken says that the host had an agent, and that it did not start.
var errAgentBroken = errors.New("the agent that was there did not start")

func (c *connector) connect(ctx context.Context) (*Session, error) {
	if strings.ContainsAny(c.opts.Dir, "'\\!\n") {
		return nil, fmt.Errorf("the agent's directory %q must have no quotes, backslashes, exclamation marks and line ends", c.opts.Dir)
	}
	for {
		s, err := c.attempt(ctx)
		switch {
		case errors.Is(err, errNeedsTerminal):
			c.terminal = true
		case errors.Is(err, errAgentBroken):
			c.reverify = true
		default:
			return s, err
		}
	}
}

// attempt starts one probe and stays with it until its agent has said hello.
func (c *connector) attempt(ctx context.Context) (*Session, error) {
	t, err := c.start(ctx)
	if err != nil {
		return nil, err
	}
	s, err := c.handshake(ctx, t)
	if err != nil {
		_ = t.Close()
	}
	return s, err
}

func (c *connector) handshake(ctx context.Context, t *probe) (*Session, error) {
	if err := c.awaitProbe(ctx, t); err != nil {
		return nil, err
	}
	if t.missing {
		if err := c.send(ctx, t); err != nil {
			return nil, err
		}
	}
	s, err := c.attach(ctx, t)
	if err != nil && c.sent == 0 && !c.reverify && ctx.Err() == nil && c.conn.Err() == nil {
		return nil, errAgentBroken
	}
	return s, err
}

// start starts the probe.
func (c *connector) start(ctx context.Context) (*probe, error) {
	late := c.fail(transport.StageSession, transport.Timeout, fmt.Errorf("the host did not start a command within %v", c.opts.Timeout))
	ctx, stop := context.WithTimeoutCause(ctx, c.opts.Timeout, late)
	defer stop()
	line := probeCommand(c.marker, c.method(), c.opts.Binaries, c.opts.Dir, !c.reverify)
	start, terminal := c.conn.Start, c.wantsTerminal()
	if terminal {
		t, ok := c.conn.(transport.Terminals)
		if !ok {
			return nil, c.fail(transport.StageBecome, transport.Config, fmt.Errorf("%s wants a terminal, and this connection has none", c.opts.Become))
		}
		start = t.StartTerminal
	}
	p, err := start(ctx, line)
	if err != nil {
		return nil, err
	}
	return newProbe(p, c.marker, terminal), nil
}

// awaitProbe hears what the host answers to the probe.
func (c *connector) awaitProbe(ctx context.Context, t *probe) error {
	err := c.withIdleTimeout(ctx, t, "the host did not answer the probe", func() (bool, error) { return false, c.answerPrompt(t) }, t.readAnswers)
	if err != nil {
		return c.explainNoAnswer(t, "the host did not answer the probe", err)
	}
	return c.probeError(t)
}

// watchInterval is how often it is looked whether something is asked for or moves.
const watchInterval = 25 * time.Millisecond

// withIdleTimeout does something with a talk, as long as it moves: the time starts anew
// whenever watch sees that. An error of watch ends it.
func (c *connector) withIdleTimeout(ctx context.Context, t *probe, late string, watch func() (moved bool, err error), do func() error) error {
	done := make(chan error, 1)
	go func() { done <- do() }()
	limit, tick := time.NewTimer(c.opts.Timeout), time.NewTicker(watchInterval)
	defer limit.Stop()
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			return err
		case <-tick.C:
			moved, err := watch()
			if err != nil {
				return err
			}
			if moved {
				limit.Reset(c.opts.Timeout)
			}
		case <-limit.C:
			return c.fail(transport.StageAgent, transport.Timeout, fmt.Errorf("%s within %v%s", late, c.opts.Timeout, c.hostOutput(t.humanOutput())))
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
