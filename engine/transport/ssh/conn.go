package ssh

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	gossh "golang.org/x/crypto/ssh"

	"deployer/engine/transport"
)

// Conn is an authenticated connection to one host.
type Conn struct {
	host     string
	client   *gossh.Client
	wire     *activeConn
	sessions sessionLimit
	opens    chan struct{} // a token for each connection through it that is being opened

	lost   chan struct{}
	asking atomic.Bool // a keepalive request is in flight

	mu     sync.Mutex
	closed bool
	cause  error // why it was lost
}

var (
	_ transport.Conn      = (*Conn)(nil)
	_ transport.Terminals = (*Conn)(nil)
)

func newConn(host string, client *gossh.Client, wire *activeConn, interval, idleTimeout time.Duration) *Conn {
	c := &Conn{host: host, client: client, wire: wire, opens: make(chan struct{}, maxOpens), lost: make(chan struct{})}
	go c.watch()
	c.keepAfter(interval, idleTimeout)
	return c
}

// watch waits for the end of the connection.
func (c *Conn) watch() {
	err := c.client.Wait()
	c.end(err)
	close(c.lost)
}

// end records why the connection ended; only the first cause counts.
func (c *Conn) end(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.cause != nil {
		return
	}
	if err == nil || isEOF(err) {
		err = errors.New("the host closed the connection")
	}
	c.cause = &transport.Error{Host: c.host, Stage: transport.StageRun, Kind: transport.Lost, Err: err}
}

// Lost implements transport.Conn.
func (c *Conn) Lost() <-chan struct{} { return c.lost }

// Err implements transport.Conn.
func (c *Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cause
}

// Close implements transport.Conn.
func (c *Conn) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	err := c.client.Close()
	<-c.lost
	if isEOF(err) || errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// keepalive sends a request when nothing has arrived for an interval, and checks
// again after the next one. OpenSSH refuses unknown requests, and the refusal shows that the
// connection works. Between two checks keepalive is only a timer.
func (c *Conn) keepalive(interval, idleTimeout time.Duration) {
	select {
	case <-c.lost:
		return
	default:
	}
	switch quiet := c.wire.idleTime(); {
	case quiet > idleTimeout:
		c.end(fmt.Errorf("nothing was received for %v", quiet.Round(time.Second)))
		_ = c.client.Close()
		return
	case quiet >= interval && c.asking.CompareAndSwap(false, true):
		go func() {
			_ = c.ask()
			c.asking.Store(false)
		}()
	}
	c.keepAfter(interval, idleTimeout)
}

func (c *Conn) keepAfter(interval, idleTimeout time.Duration) {
	time.AfterFunc(interval, func() { c.keepalive(interval, idleTimeout) })
}

// ask waits for an answer of the server, or for the end of the connection.
func (c *Conn) ask() error {
	_, _, err := c.client.SendRequest("keepalive@openssh.com", true, nil)
	return err
}

// fail converts the error of a session or a dial into a *transport.Error.
func (c *Conn) fail(stage transport.Stage, err error, fallback transport.Kind) error {
	if cause := c.Err(); cause != nil {
		return cause
	}
	if isLoss(err) {
		fallback = transport.Lost
	}
	return transport.Classify(c.host, stage, err, fallback)
}

// Dial implements transport.Conn.
func (c *Conn) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := c.dialTCP(ctx, network, address)
	if err == nil {
		return conn, nil
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	var refused *gossh.OpenChannelError
	if errors.As(err, &refused) && refused.Reason == gossh.Prohibited {
		return nil, &transport.Error{Host: c.host, Stage: transport.StageDial, Kind: transport.Config, Err: err,
			Advice: "allow TCP forwarding (AllowTcpForwarding, PermitOpen) in the host's sshd_config"}
	}
	return nil, c.fail(transport.StageDial, fmt.Errorf("connecting to %s from the host: %w", address, err), transport.Unreachable)
}

// activeConn records when bytes arrive.
type activeConn struct {
	net.Conn
	last atomic.Int64 // unix nanoseconds
	some atomic.Bool  // whether any byte has arrived
}

func (a *activeConn) Read(p []byte) (int, error) {
	n, err := a.Conn.Read(p)
	if n > 0 {
		a.touch()
		a.some.Store(true)
	}
	return n, err
}

func (a *activeConn) received() bool          { return a.some.Load() }
func (a *activeConn) touch()                  { a.last.Store(time.Now().UnixNano()) }
func (a *activeConn) idleTime() time.Duration { return time.Since(time.Unix(0, a.last.Load())) }

// isLoss reports whether an error is one of a connection that has ended. A
// connection through a bastion or a command is a pipe in parts.
func isLoss(err error) bool {
	return isEOF(err) || errors.Is(err, net.ErrClosed) || errors.Is(err, io.ErrClosedPipe) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

func isEOF(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}
