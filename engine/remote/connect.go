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

// Connect starts the agent on the host at the other end of conn and returns the
// session. The session owns conn; after an error conn is closed.
//
// The error is a *transport.Error, or the cause of ctx when ctx ended first.
func Connect(ctx context.Context, conn transport.Conn, opts Options) (*Session, error) {
	opts = opts.withDefaults()
	c := &connector{conn: conn, opts: opts, started: time.Now(), marker: newMarker()}
	s, err := c.connect(ctx)
	if err == nil {
		return s, nil
	}
	return nil, c.failure(ctx, err)
}

// newMarker returns a text that no other output contains.
func newMarker() string { return "deployer-" + rand.Text() }

// failure closes the connection and returns the error of a caller that got err.
func (c *connector) failure(ctx context.Context, err error) error {
	if isStreamEnd(err) {
		// The end of a stream is noticed before that of the connection.
		select {
		case <-c.conn.Lost():
		case <-time.After(200 * time.Millisecond):
		}
	}
	if lost := c.conn.Err(); lost != nil {
		err = lost
	}
	_ = c.conn.Close()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return transport.Classify(c.opts.Host, transport.StageAgent, err, transport.Config)
}

// isStreamEnd reports whether err says that a stream has ended.
func isStreamEnd(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.ErrClosedPipe) || errors.Is(err, net.ErrClosed)
}

// connector is one Connect: one probe, or several when the first needs a terminal or
// finds a broken agent.
type connector struct {
	conn     transport.Conn
	opts     Options
	started  time.Time
	marker   string
	sent     int  // size of the agent in bytes if it was sent, else 0
	reverify bool // verify the agent's directory again: the agent there did not start
	terminal bool // sudo needs a terminal
}

// errAgentBroken says that the agent that the host had did not start.
var errAgentBroken = errors.New("the agent on the host did not start")

func (c *connector) connect(ctx context.Context) (*Session, error) {
	if strings.ContainsAny(c.opts.Dir, "'\\!\n") {
		return nil, fmt.Errorf("the agent's directory %q contains a quote, backslash, exclamation mark or line end: choose another one", c.opts.Dir)
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

// attempt runs one probe until its agent has sent its hello.
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

// handshake reads the probe's answers, sends the agent if it is missing, and opens
// the session.
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
	return c.startCommand(ctx, probeCommand(c.marker, c.method(), c.opts.Binaries, c.opts.Dir, !c.reverify))
}

// startCommand starts a command line that begins as the probe does.
func (c *connector) startCommand(ctx context.Context, line string) (*probe, error) {
	late := c.fail(transport.StageSession, transport.Timeout, fmt.Errorf("the host did not start a command within %v", c.opts.Timeout))
	ctx, stop := context.WithTimeoutCause(ctx, c.opts.Timeout, late)
	defer stop()
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

// awaitProbe reads the answers of the probe and answers its password prompts.
func (c *connector) awaitProbe(ctx context.Context, t *probe) error {
	err := c.withIdleTimeout(ctx, t, "the host did not answer the probe", func() (bool, error) { return false, c.answerPrompt(t) }, t.readAnswers)
	if err != nil {
		return c.explainNoAnswer(t, "the host did not answer the probe", err)
	}
	return c.probeError(t)
}

// watchInterval is the interval at which a running probe is checked for prompts and
// progress.
const watchInterval = 25 * time.Millisecond

// withIdleTimeout runs do, and fails when Options.Timeout passes without progress;
// late is the text of that error. withIdleTimeout calls watch every watchInterval: watch reports
// progress, and its error ends the wait.
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
