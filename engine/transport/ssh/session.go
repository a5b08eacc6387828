package ssh

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	gossh "golang.org/x/crypto/ssh"

	"deployer/engine/transport"
)

// Exec implements transport.Conn.
func (c *Conn) Exec(ctx context.Context, command string, stdin io.Reader, stdout io.Writer) (transport.Exit, error) {
	p, err := c.Start(ctx, command)
	if err != nil {
		return transport.Exit{}, err
	}
	return transport.Finish(ctx, p, stdin, stdout)
}

// Start implements transport.Conn.
func (c *Conn) Start(ctx context.Context, command string) (transport.Process, error) {
	return c.startIn(ctx, command, false)
}

func (c *Conn) startIn(ctx context.Context, command string, terminal bool) (transport.Process, error) {
	type outcome struct {
		p   *process
		err error
	}
	done := make(chan outcome, 1)
	go func() {
		p, err := c.start(ctx, command, terminal)
		done <- outcome{p, err}
	}()
	select {
	case o := <-done:
		if o.err != nil {
			return nil, o.err
		}
		return o.p, nil
	case <-ctx.Done():
		// The host may still answer; a session that it opens then is closed.
		go func() {
			if o := <-done; o.p != nil {
				_ = o.p.Close()
			}
		}()
		return nil, context.Cause(ctx)
	}
}

func (c *Conn) start(ctx context.Context, command string, terminal bool) (*process, error) {
	session, err := c.openSession(ctx)
	if err != nil {
		return nil, err
	}
	p := &process{conn: c, session: session, ended: make(chan struct{}), closed: make(chan struct{})}
	output, err := p.run(command, terminal)
	if err != nil {
		go func() {
			_ = session.Close()
			c.sessions.release()
		}()
		return nil, c.fail(transport.StageSession, err, transport.Config)
	}
	// A pipe stands between the caller and the channel: a read of the channel ends
	// only when the server agrees, and Close must not depend on the server.
	var in *io.PipeWriter
	p.stdout, in = io.Pipe()
	go func() {
		_, err := io.CopyBuffer(in, output, make([]byte, outputBuffer))
		_ = in.CloseWithError(err)
	}()
	go p.wait()
	return p, nil
}

// outputBuffer is the size of the buffer for a command's output in bytes. It is
// small, because outputs are short and a controller has a thousand commands.
const outputBuffer = 4 << 10

// run starts the command in the session and returns its output.
func (p *process) run(command string, terminal bool) (output io.Reader, err error) {
	p.session.Stderr = &p.stderr
	if p.stdin, err = p.session.StdinPipe(); err != nil {
		return nil, err
	}
	if output, err = p.session.StdoutPipe(); err != nil {
		return nil, err
	}
	if terminal {
		if err := p.conn.giveTerminal(p.session); err != nil {
			return nil, err
		}
	}
	err = p.session.Start(command)
	if err != nil && !isLoss(err) {
		// The text of err is the whole command.
		err = errors.New("the server refuses to run commands for the user")
	}
	return output, err
}

// process is a command that runs on the host.
type process struct {
	conn    *Conn
	session *gossh.Session
	stdin   io.WriteCloser
	stdout  *io.PipeReader
	stderr  transport.Tail
	once    sync.Once
	closed  chan struct{}
	ended   chan struct{}
	exit    transport.Exit // valid once ended is closed
	err     error          // valid once ended is closed
}

// wait runs in a goroutine of its own.
func (p *process) wait() {
	defer close(p.ended)
	err := p.session.Wait()
	p.conn.sessions.release()
	p.exit.Stderr = p.stderr.String()
	var status *gossh.ExitError
	switch {
	case err == nil:
	case errors.As(err, &status):
		p.exit.Code, p.exit.Signal = status.ExitStatus(), status.Signal()
		if p.exit.Signal != "" {
			p.exit.Code = -1
		}
	default:
		p.err = p.conn.fail(transport.StageSession, err, transport.Lost)
	}
}

func (p *process) Stdin() io.WriteCloser { return chunkedWriter{p.stdin} }
func (p *process) Stdout() io.Reader     { return p.stdout }

func (p *process) Stderr() string { return p.stderr.String() }

// closeDelay bounds how long the server may take to confirm that a command was
// abandoned.
const closeDelay = time.Second

func (p *process) Wait() (transport.Exit, error) {
	select {
	case <-p.ended:
		return p.exit, p.err
	case <-p.closed:
	}
	select {
	case <-p.ended:
		return p.exit, p.err
	case <-time.After(closeDelay):
		return transport.Exit{Code: -1, Stderr: p.stderr.String()}, p.conn.fail(transport.StageSession, net.ErrClosed, transport.Lost)
	}
}

// Resize implements transport.Resizer.
func (p *process) Resize(rows, columns int) error { return p.session.WindowChange(rows, columns) }

// Close returns at once; the server is notified in the background, as the network
// may hang.
func (p *process) Close() error {
	p.release(false)
	return nil
}

// Kill kills the command and closes it. OpenSSH kills commands on request since 7.9.
func (p *process) Kill() { p.release(true) }

func (p *process) release(kill bool) {
	p.once.Do(func() {
		close(p.closed)
		_ = p.stdout.CloseWithError(net.ErrClosed)
		go func() {
			if kill {
				_ = p.session.Signal(gossh.SIGKILL)
			}
			_ = p.session.Close()
		}()
	})
}
