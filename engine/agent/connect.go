package agent

import (
	"bufio"
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

// Banner is the line after which the agent speaks frames.
const Banner = "deployer-agent speaks frames from here"

// Connect makes the agent run on the host at the other end of conn and returns
// the session with it. The session owns conn; after an error it is closed.
//
// Errors are *transport.Error, or the cause of ctx when that ended first.
func Connect(ctx context.Context, conn transport.Conn, opts Options) (*Session, error) {
	opts = opts.withDefaults()
	c := &connector{conn: conn, opts: opts, began: time.Now(), marker: "deployer-" + rand.Text()}
	s, err := c.connect(ctx)
	if err == nil {
		return s, nil
	}
	if ended(err) {
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

func ended(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.ErrClosedPipe) || errors.Is(err, net.ErrClosed)
}

// connector is one attempt.
type connector struct {
	conn     transport.Conn
	opts     Options
	began    time.Time
	marker   string
	password string
	sent     int  // bytes of the program, if it was sent
	distrust bool // an agent that was there did not start
}

func (c *connector) connect(ctx context.Context) (*Session, error) {
	if strings.ContainsAny(c.opts.Dir, "'\\!\n") {
		return nil, fmt.Errorf("the agent's directory %q must have no quotes, backslashes, exclamation marks and line ends", c.opts.Dir)
	}
	if c.opts.Become == Sudo && c.opts.Password != nil {
		var err error
		if c.password, err = c.opts.Password(); err != nil {
			return nil, c.fail(transport.StageBecome, transport.Config, fmt.Errorf("reading the password to become root with: %w", err))
		}
	}
	for {
		started, host, err := c.probe(ctx)
		if err != nil {
			return nil, err
		}
		if started != nil {
			s, err := c.attach(ctx, started)
			if err == nil || c.sent > 0 || ctx.Err() != nil || c.conn.Err() != nil {
				return s, err
			}
			// There is such a file, but it does not run: the directory is
			// tried out, and it is sent anew.
			if !c.distrust {
				c.distrust = true
				if started, host, err = c.probe(ctx); err != nil {
					return nil, err
				}
				if started != nil {
					_ = started.Close()
				}
			}
		}
		if c.sent > 0 {
			return nil, errors.New("the agent was stored on the host and is not there any more: something removes it")
		}
		if err := c.store(ctx, host); err != nil {
			return nil, err
		}
	}
}

// privilege says how to become root.
func (c *connector) privilege() privilege {
	switch {
	case c.opts.Become != Sudo:
		return plain
	case c.password != "":
		return password
	}
	return sudo
}

// started is a command whose output is read through a buffer.
type started struct {
	transport.Process
	out *bufio.Reader
}

// begin starts a command of this package and hands it the password.
func (c *connector) begin(ctx context.Context, line string) (*started, error) {
	p, err := c.conn.Start(ctx, line)
	if err != nil {
		return nil, err
	}
	if c.privilege() == password {
		if _, err := io.WriteString(p.Stdin(), c.password+"\n"); err != nil {
			_ = p.Close()
			return nil, err
		}
	}
	return &started{Process: p, out: bufio.NewReaderSize(p.Stdout(), maxLine)}, nil
}

// probe looks at the host. It returns the started agent, or nil when that must
// be sent first.
func (c *connector) probe(ctx context.Context) (*started, *probed, error) {
	p, err := c.begin(ctx, probeCommand(c.marker, c.privilege(), c.opts.Binaries, c.opts.Dir, !c.distrust))
	if err != nil {
		return nil, nil, err
	}
	host, err := c.answers(ctx, p)
	if err == nil && host.present {
		return p, host, nil
	}
	_ = p.Close()
	if err != nil {
		return nil, nil, err
	}
	return nil, host, c.refusal(host)
}

// errPassword says that sudo has asked again.
var errPassword = errors.New("sudo refused the password")

// answers reads the probe's answers in time, and watches for sudo asking a
// second time, as it would wait for the next password for ever.
func (c *connector) answers(ctx context.Context, p *started) (*probed, error) {
	type outcome struct {
		host *probed
		err  error
	}
	done := make(chan outcome, 1)
	go func() {
		host, err := readProbe(p.out, c.marker)
		done <- outcome{host, err}
	}()
	limit := time.NewTimer(c.opts.Timeout)
	defer limit.Stop()
	look := time.NewTicker(100 * time.Millisecond)
	defer look.Stop()
	for {
		select {
		case o := <-done:
			if o.err != nil {
				return nil, c.silent(p, o.host, o.err)
			}
			return o.host, nil
		case <-look.C:
			if strings.Count(p.Stderr(), sudoPrompt) > 1 {
				_ = p.Close()
				return nil, c.fail(transport.StageBecome, transport.BecomePassword, errPassword)
			}
		case <-limit.C:
			_ = p.Close()
			return nil, c.fail(transport.StageAgent, transport.Timeout, fmt.Errorf("the host did not answer the probe within %v", c.opts.Timeout))
		case <-ctx.Done():
			_ = p.Close()
			return nil, context.Cause(ctx)
		}
	}
}

// silent explains a probe that ended without its answers.
func (c *connector) silent(p *started, host *probed, err error) error {
	words := lastWords(p)
	if lost := c.conn.Err(); lost != nil {
		return lost
	}
	if host.sudoAsked && host.system == "" {
		return c.fail(transport.StageBecome, transport.BecomePassword, fmt.Errorf("sudo did not become root%s", words))
	}
	return &transport.Error{Host: c.opts.Host, Stage: transport.StageAgent, Kind: transport.Config,
		Err:    fmt.Errorf("%w%s", err, words),
		Advice: "check that the user's login shell on the host runs commands (try: ssh HOST uname)"}
}
