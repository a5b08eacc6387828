package ssh

import (
	"context"
	"errors"
	"fmt"
	"net"

	gossh "golang.org/x/crypto/ssh"

	"deployer/engine/transport"
)

// bastion is a client through which other connections go. bastion is dialed once and
// shared; a connection that needs it meanwhile waits for the same attempt.
type bastion struct {
	ready chan struct{}
	conn  *Conn // valid once ready is closed
	err   error // valid once ready is closed
}

// bastion returns the client of the last hop of via, for a connection to t.
func (d *Dialer) bastion(ctx context.Context, t Target, via []Target) (*Conn, error) {
	last := len(via) - 1
	hop := via[last]
	hop.Bastions = via[:last]
	if hop.Host == "" {
		hop.Host = "bastion " + hop.address()
	}
	b, mine, err := d.shared(hop.route())
	if err != nil {
		return nil, settingsError(t, err)
	}
	if mine {
		// The dial runs without ctx, as other connections may wait for the bastion
		// too. Each stage has a deadline of its own.
		go d.dialBastion(context.WithoutCancel(ctx), b, hop)
	}
	select {
	case <-b.ready:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if b.err != nil {
		return nil, throughBastion(t, b.err)
	}
	return b.conn, nil
}

var errDialerClosed = errors.New("the dialer is closed")

func (d *Dialer) shared(route string) (b *bastion, mine bool, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, false, errDialerClosed
	}
	if b := d.bastions[route]; b != nil {
		return b, false, nil
	}
	b = &bastion{ready: make(chan struct{})}
	d.bastions[route] = b
	return b, true, nil
}

// dialBastion dials, and removes the entry when the attempt fails or the connection
// is lost, so that the next host dials again.
func (d *Dialer) dialBastion(ctx context.Context, b *bastion, hop Target) {
	b.conn, b.err = d.client(ctx, hop, hop.Bastions)
	forget := func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.bastions[hop.route()] == b {
			delete(d.bastions, hop.route())
		}
	}
	if b.err != nil {
		forget()
		close(b.ready)
		return
	}
	close(b.ready)
	<-b.conn.Lost()
	forget()
}

func (b *bastion) close() error {
	<-b.ready
	if b.conn == nil {
		return nil
	}
	return b.conn.Close()
}

// throughBastion converts the bastion's error into one of the host behind it.
func throughBastion(t Target, err error) error {
	var e *transport.Error
	if !errors.As(err, &e) {
		return transport.Classify(t.Host, transport.StageBastion, err, transport.Unreachable)
	}
	return &transport.Error{Host: t.Host, Stage: transport.StageBastion, Kind: e.Kind, Advice: e.Advice,
		Err: fmt.Errorf("%s: %s: %w", e.Host, e.Stage, e.Err)}
}

// dialTCP opens a channel to an address as the host sees it.
func (c *Conn) dialTCP(ctx context.Context, network, address string) (net.Conn, error) {
	return c.client.DialContext(ctx, network, address)
}

// dialOn is dialTCP for a connection to another host; the number in flight is
// limited.
func (c *Conn) dialOn(ctx context.Context, _, address string) (net.Conn, error) {
	select {
	case c.opens <- struct{}{}:
		defer func() { <-c.opens }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	conn, err := c.dialTCP(ctx, "tcp", address)
	var refused *gossh.OpenChannelError
	if errors.As(err, &refused) && refused.Reason == gossh.Prohibited {
		return nil, &transport.Error{Host: c.host, Stage: transport.StageConnect, Kind: transport.Config, Err: err,
			Advice: "allow TCP forwarding (AllowTcpForwarding, PermitOpen) in the sshd_config of the bastion"}
	}
	return conn, err
}
