package ssh

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	gossh "golang.org/x/crypto/ssh"

	"deployer/engine/transport"
)

// Options are what all connections of a Dialer share.
type Options struct {
	// Passphrase returns the passphrase of an encrypted key file. Without it
	// such a key is an error. It is called once a file at most.
	Passphrase func(path string) ([]byte, error)
	// AgentSocket is the socket of an SSH agent, as in SSH_AUTH_SOCK; empty
	// for none.
	AgentSocket string
	// Beat is how often an idle connection is tried, Silence after how long
	// without a byte it is taken for lost. 5 s and 15 s when 0.
	Beat, Silence time.Duration
	// Net makes the first TCP connection; a net.Dialer when nil.
	Net func(ctx context.Context, network, address string) (net.Conn, error)
}

// Dialer makes connections. Its methods may be called concurrently.
type Dialer struct {
	opts  Options
	keys  keyStore
	known knownStore

	mu       sync.Mutex
	closed   bool
	bastions map[string]*bastion // by route
}

// NewDialer returns a Dialer. Close it when no connection is needed any more.
func NewDialer(opts Options) *Dialer {
	if opts.Net == nil {
		opts.Net = new(net.Dialer).DialContext
	}
	if opts.Beat <= 0 {
		opts.Beat = 5 * time.Second
	}
	if opts.Silence <= 0 {
		opts.Silence = 15 * time.Second
	}
	d := &Dialer{opts: opts, bastions: map[string]*bastion{}}
	d.keys.passphrase, d.keys.socket = opts.Passphrase, opts.AgentSocket
	return d
}

// Dial connects to the target and authenticates. Its error is a
// *transport.Error, or the cause of ctx when that ended first.
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

// client connects to t through the given bastions.
func (d *Dialer) client(ctx context.Context, t Target, via []Target) (*Conn, error) {
	auth, err := d.keys.auth(t)
	if err != nil {
		return nil, settingsError(t, err)
	}
	known, err := d.known.open(t)
	if err != nil {
		return nil, settingsError(t, err)
	}
	raw, err := d.connect(ctx, t, via)
	if err != nil {
		return nil, err
	}
	wire := &activeConn{Conn: raw}
	wire.touch()
	client, err := handshake(ctx, wire, t, auth, known)
	if err != nil {
		_ = raw.Close()
		return nil, err
	}
	return newConn(t.Host, client, wire, d.opts.Beat, d.opts.Silence), nil
}

func settingsError(t Target, err error) error {
	return &transport.Error{Host: t.Host, Stage: transport.StageSettings, Kind: transport.Config, Err: err}
}

// connect makes the byte stream to t.
func (d *Dialer) connect(ctx context.Context, t Target, via []Target) (net.Conn, error) {
	limit := fmt.Errorf("no connection to %s within %v: %w", t.address(), t.timeout(), context.DeadlineExceeded)
	dial := d.opts.Net
	if len(via) > 0 {
		hop, err := d.bastion(ctx, t, via)
		if err != nil {
			return nil, err
		}
		dial = hop.dialTCP
	}
	stage, stop := context.WithTimeoutCause(ctx, t.timeout(), limit)
	defer stop()
	conn, err := dial(stage, "tcp", t.address())
	if err == nil {
		return conn, nil
	}
	if stage.Err() != nil && ctx.Err() == nil {
		err = limit
	}
	return nil, transport.Classify(t.Host, transport.StageConnect, err, transport.Unreachable)
}

// handshake exchanges keys, checks the host's and authenticates.
func handshake(ctx context.Context, raw net.Conn, t Target, auth gossh.AuthMethod, known *knownHosts) (*gossh.Client, error) {
	check := &hostKeyCheck{known: known, policy: t.HostKeys}
	limit := fmt.Errorf("no end of it within %v: %w", t.timeout(), context.DeadlineExceeded)
	stage, stop := context.WithTimeoutCause(ctx, t.timeout(), limit)
	defer stop()
	// A connection through a bastion has no deadlines, so closing is the way
	// to stop in both cases.
	unhook := context.AfterFunc(stage, func() { _ = raw.Close() })
	defer unhook()
	conn, channels, requests, err := gossh.NewClientConn(raw, t.address(), &gossh.ClientConfig{
		User:              t.user(),
		Auth:              []gossh.AuthMethod{auth},
		HostKeyCallback:   check.check,
		HostKeyAlgorithms: known.algorithms(t.address()),
		Config:            gossh.Config{Ciphers: ciphers()},
	})
	if err == nil {
		return gossh.NewClient(conn, channels, requests), nil
	}
	if stage.Err() != nil {
		err = context.Cause(stage)
	}
	return nil, check.explain(t, err)
}

// explain turns the error of a handshake into one that says what to do.
func (c *hostKeyCheck) explain(t Target, err error) error {
	if c.err != nil {
		return &transport.Error{Host: t.Host, Stage: transport.StageHandshake, Kind: c.kind, Err: c.err}
	}
	var mismatch *gossh.AlgorithmNegotiationError
	if errors.As(err, &mismatch) {
		return &transport.Error{Host: t.Host, Stage: transport.StageHandshake, Kind: transport.Config, Err: err,
			Advice: "update the host's SSH server: it offers only algorithms that are no longer safe"}
	}
	stage, fallback := transport.StageHandshake, transport.Lost
	// Once the host's key was checked, what is refused is the user.
	if c.passed {
		stage, fallback = transport.StageAuth, transport.Auth
	}
	if isEOF(err) {
		fallback = transport.Lost
	}
	return transport.Classify(t.Host, stage, err, fallback)
}

// Close closes the bastions. Connections through them end with it.
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
	return errors.Join(append(errs, d.keys.close())...)
}
