package ssh

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"deployer/engine/transport"
)

// Options are shared by all connections of a Dialer.
type Options struct {
	// Passphrase returns the passphrase of an encrypted key file, after a number of wrong
	// ones; an error means that there is none. Without it, an encrypted key is an error.
	Passphrase func(path string, wrong int) ([]byte, error)
	// Passwords records refused passwords; a new one when nil.
	Passwords *transport.Passwords
	// AgentSocket is the socket of an SSH agent, as in SSH_AUTH_SOCK; empty
	// for none.
	AgentSocket string
	// KeepaliveInterval is the interval of requests on an idle connection, IdleTimeout
	// the time without any byte after which it is lost. 5 s and 15 s when 0.
	KeepaliveInterval, IdleTimeout time.Duration
	// Net dials the first TCP connection, if the target has no BindAddress; a net.Dialer
	// when nil.
	Net func(ctx context.Context, network, address string) (net.Conn, error)
}

// Dialer opens connections. Its methods may be called concurrently.
type Dialer struct {
	opts  Options
	keys  keyStore
	known knownStore

	mu       sync.Mutex
	closed   bool
	bastions map[string]*bastion // by route

	handshakes handshakeLimits // by server
}

// NewDialer returns a Dialer. Close it when no connection is needed any more.
func NewDialer(opts Options) *Dialer {
	if opts.Net == nil {
		opts.Net = new(net.Dialer).DialContext
	}
	if opts.Passwords == nil {
		opts.Passwords = &transport.Passwords{}
	}
	if opts.KeepaliveInterval <= 0 {
		opts.KeepaliveInterval = 5 * time.Second
	}
	if opts.IdleTimeout <= 0 {
		opts.IdleTimeout = 15 * time.Second
	}
	d := &Dialer{opts: opts, bastions: map[string]*bastion{}, handshakes: handshakeLimits{perHost: maxHandshakes}}
	d.keys.passphrase, d.keys.agents.socket = opts.Passphrase, opts.AgentSocket
	return d
}

// Unlock loads the keys of targets, so that passphrases are prompted for before the
// run begins. Dial reports errors of keys.
func (d *Dialer) Unlock(targets ...Target) {
	for _, t := range targets {
		d.Unlock(t.Bastions...)
		_, _ = d.keys.collect(t)
	}
}

// Dial connects to the target and authenticates. The error is a *transport.Error, or
// the cause of ctx when ctx ended first.
func (d *Dialer) Dial(ctx context.Context, t Target) (transport.Conn, error) {
	client, err := d.client(ctx, t, t.Bastions)
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, err
	}
	return client, nil
}

// client connects to t through the given bastions. When the server closes the
// connection before it has identified itself, it has too many connections, and
// client tries again. When the connection to an SSH agent is lost, client tries once
// more with the keys of the restarted agent.
func (d *Dialer) client(ctx context.Context, t Target, via []Target) (*Conn, error) {
	keys, err := d.keys.collect(t)
	if err != nil {
		return nil, settingsError(t, err)
	}
	known, err := d.known.open(t)
	if err != nil {
		return nil, settingsError(t, err)
	}
	for try, asked := 1, false; ; try++ {
		c, err := d.attempt(ctx, t, via, keys, known)
		if err != nil && !asked && d.keys.agents.lost(t) {
			asked = true
			if keys, err = d.keys.collect(t); err != nil {
				return nil, settingsError(t, err)
			}
			continue
		}
		if !isTurnedAway(err) {
			return c, err
		}
		if try == maxTurns {
			return nil, tooMany(err, try)
		}
		if err := acquireSlot(ctx, try); err != nil {
			return nil, err
		}
	}
}

// isTurnedAway reports whether the server has closed the connection at once.
func isTurnedAway(err error) bool {
	var e *transport.Error
	return errors.As(err, &e) && e.Stage == transport.StageHandshake && e.Kind == transport.Lost
}

func tooMany(err error, tries int) error {
	var e *transport.Error
	if !errors.As(err, &e) {
		return err
	}
	return &transport.Error{Host: e.Host, Stage: e.Stage, Kind: e.Kind, Err: fmt.Errorf("%w (%d times in a row)", e.Err, tries),
		Advice: "see the log of the SSH server there: it may limit connections (MaxStartups, fail2ban) or fail to start them"}
}

// attempt connects once, when the limit of handshakes with the server permits it.
func (d *Dialer) attempt(ctx context.Context, t Target, via []Target, keys credentials, known *knownHosts) (*Conn, error) {
	name := server(t, via)
	leave, err := d.handshakes.acquire(ctx, name)
	if err != nil {
		return nil, err
	}
	c, err := d.shake(ctx, t, via, keys, known)
	if err != nil || !d.handshakes.shared(name) {
		leave()
		return c, err
	}
	// OpenSSH's server confirms the login before it takes the connection off its count of
	// unauthenticated ones. An answer after that shows that it has.
	go func() {
		_ = c.ask()
		leave()
	}()
	return c, nil
}

func (d *Dialer) shake(ctx context.Context, t Target, via []Target, keys credentials, known *knownHosts) (*Conn, error) {
	raw, err := d.connect(ctx, t, via)
	if err != nil {
		return nil, err
	}
	wire := &activeConn{Conn: raw}
	wire.touch()
	client, err := handshake(ctx, wire, t, keys, &passwordLogin{ctx: ctx, t: t, all: d.opts.Passwords}, known)
	if err != nil {
		_ = raw.Close()
		if p, ok := raw.(*proxyConn); ok {
			err = p.explain(t, err)
		}
		return nil, err
	}
	return newConn(t.Host, client, wire, d.opts.KeepaliveInterval, d.opts.IdleTimeout), nil
}

// server returns the server of t, whatever the user.
func server(t Target, via []Target) string {
	t.User, t.Bastions = "", via
	return t.route()
}

func settingsError(t Target, err error) error {
	return &transport.Error{Host: t.Host, Stage: transport.StageSettings, Kind: transport.Config, Err: err}
}

// connect opens the byte stream to t.
func (d *Dialer) connect(ctx context.Context, t Target, via []Target) (net.Conn, error) {
	limit := lateError(fmt.Sprintf("no connection to %s within %v", t.address(), t.timeout()))
	dial := d.opts.Net
	switch {
	case len(via) == 0 && t.ProxyCommand == "" && t.BindAddress != "":
		dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			return dialFrom(ctx, t.BindAddress, network, address)
		}
	case len(via) > 0:
		hop, err := d.bastion(ctx, t, via)
		if err != nil {
			return nil, err
		}
		dial = hop.dialOn
	case t.ProxyCommand != "":
		dial = func(ctx context.Context, _, _ string) (net.Conn, error) { return dialCommand(ctx, t.ProxyCommand) }
	}
	stage, stop := context.WithTimeoutCause(ctx, t.timeout(), limit)
	defer stop()
	conn, err := dial(stage, t.network(), t.address())
	if err == nil {
		return conn, nil
	}
	var refused *transport.Error
	if errors.As(err, &refused) {
		return nil, throughBastion(t, err)
	}
	// A dial sees the deadline a moment before the context says so.
	if ctx.Err() == nil && (stage.Err() != nil || errors.Is(err, os.ErrDeadlineExceeded)) {
		err = limit
	}
	return nil, transport.Classify(t.Host, transport.StageConnect, err, transport.Unreachable)
}

// lateError is a timeout whose text names the operation that was not done in time.
type lateError string

func (e lateError) Error() string { return string(e) }

func (lateError) Is(target error) bool { return target == context.DeadlineExceeded }

// dialFrom dials from an address of this machine.
func dialFrom(ctx context.Context, from, network, address string) (net.Conn, error) {
	local, err := net.ResolveTCPAddr(network, net.JoinHostPort(from, "0"))
	if err != nil {
		return nil, fmt.Errorf("BindAddress %s: %w", from, err)
	}
	conn, err := (&net.Dialer{LocalAddr: local}).DialContext(ctx, network, address)
	if err != nil {
		return nil, fmt.Errorf("dialing from BindAddress %s: %w", from, err)
	}
	return conn, nil
}

// Close closes the bastions, and with them the connections through them.
func (d *Dialer) Close() error {
	d.mu.Lock()
	d.closed = true
	bastions := d.bastions
	d.bastions = nil
	d.mu.Unlock()
	var errs []error
	for _, b := range bastions {
		errs = append(errs, b.close())
	}
	return errors.Join(append(errs, d.keys.agents.close())...)
}
