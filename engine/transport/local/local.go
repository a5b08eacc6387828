// Package local is the transport to the machine on which deployer runs.
package local

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"

	"deployer/engine/transport"
)

// Conn runs commands on this machine with /bin/sh.
type Conn struct {
	host string
	lost chan struct{}

	mu     sync.Mutex
	closed bool
	open   map[io.Closer]struct{} // processes and connections that Close ends
}

var _ transport.Conn = (*Conn)(nil)

// New returns a connection to this machine under the given host name.
func New(host string) *Conn {
	return &Conn{host: host, lost: make(chan struct{}), open: map[io.Closer]struct{}{}}
}

// Exec implements transport.Conn.
func (c *Conn) Exec(ctx context.Context, command string, stdin io.Reader, stdout io.Writer) (transport.Exit, error) {
	p, err := c.start(ctx, command)
	if err != nil {
		return transport.Exit{}, err
	}
	return transport.Finish(ctx, p, stdin, stdout)
}

// Start implements transport.Conn.
func (c *Conn) Start(ctx context.Context, command string) (transport.Process, error) {
	return c.start(ctx, command)
}

func (c *Conn) start(ctx context.Context, command string) (transport.Process, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	p, err := startProcess(c, command)
	if err != nil {
		return nil, c.fail(err)
	}
	if err := c.track(p); err != nil {
		return nil, err
	}
	go p.wait()
	return p, nil
}

func (c *Conn) fail(err error) error {
	return &transport.Error{Host: c.host, Stage: transport.StageSession, Kind: transport.Config, Err: err}
}

// Dial implements transport.Conn.
func (c *Conn) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, network, address)
	if err != nil {
		return nil, transport.Classify(c.host, transport.StageDial, fmt.Errorf("connecting to %s: %w", address, err), transport.Unreachable)
	}
	owned := &ownedConn{Conn: conn, owner: c}
	if err := c.track(owned); err != nil {
		return nil, err
	}
	return owned, nil
}

// track registers a closer with the connection, so that Close closes it too.
func (c *Conn) track(closer io.Closer) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		_ = closer.Close()
		return &transport.Error{Host: c.host, Stage: transport.StageSession, Kind: transport.Lost, Err: net.ErrClosed}
	}
	c.open[closer] = struct{}{}
	return nil
}

func (c *Conn) untrack(closer io.Closer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.open, closer)
}

// Lost implements transport.Conn.
func (c *Conn) Lost() <-chan struct{} { return c.lost }

// Err implements transport.Conn; this machine is never lost.
func (c *Conn) Err() error { return nil }

// Close implements transport.Conn.
func (c *Conn) Close() error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil
	}
	c.closed = true
	open := c.open
	c.open = map[io.Closer]struct{}{}
	c.mu.Unlock()
	for closer := range open {
		_ = closer.Close()
	}
	close(c.lost)
	return nil
}

type ownedConn struct {
	net.Conn
	owner *Conn
}

func (o *ownedConn) Close() error {
	o.owner.untrack(o)
	return o.Conn.Close()
}
