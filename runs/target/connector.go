package target

import (
	"context"
	"errors"
	"fmt"
	"os"

	"deployer/engine"
	"deployer/engine/remote"
	"deployer/engine/session"
	"deployer/engine/transport"
	localtransport "deployer/engine/transport/local"
	"deployer/engine/transport/ssh"
	"deployer/project"
)

// AgentServices serve the requests of agents and receive their events.
type AgentServices struct {
	Blobs remote.Blobs
	Calls map[string]remote.CallFunc
	Sink  engine.Sink // must redact secrets itself
	// Peers has hosts send blobs to each other; nil when the controller sends all.
	Peers remote.Peers
}

// Connector opens agent sessions over SSH. Its connections share bastions, the SSH
// agent and passphrases. Connector is safe for concurrent use after Serve.
type Connector struct {
	targets   *Targets
	dialer    *ssh.Dialer
	binaries  *remote.Binaries
	keepalive keepalive
	services  AgentServices
}

// NewConnector returns a connector to the hosts of a project. hosts is the number of
// hosts of the run, which determines keepalive intervals. Its errors are
// *project.UserError.
func NewConnector(p *project.Project, credentials *Credentials, hosts int) (*Connector, error) {
	targets, err := NewTargets(p.Inventory, credentials)
	if err != nil {
		return nil, err
	}
	intervals := keepaliveFor(hosts)
	d := ssh.NewDialer(ssh.Options{
		Passphrase:        credentials.passphrase,
		Passwords:         &credentials.attempts,
		AgentSocket:       os.Getenv("SSH_AUTH_SOCK"),
		KeepaliveInterval: intervals.sshInterval,
		IdleTimeout:       intervals.sshIdleTimeout,
	})
	return &Connector{targets: targets, dialer: d, binaries: remote.NewBinaries(p.Agents), keepalive: intervals}, nil
}

// UnlockKeys prompts for the passphrases of keys that the given hosts need. UnlockKeys returns
// the error of an interrupted prompt.
func (c *Connector) UnlockKeys(hosts []string) error {
	for _, h := range hosts {
		c.dialer.Unlock(c.targets.byHost[h])
	}
	return c.targets.credentials.interrupted
}

// Serve sets the services of agents. Serve must be called before the first Connect.
func (c *Connector) Serve(s AgentServices) { c.services = s }

// Close closes shared connections.
func (c *Connector) Close() { _ = c.dialer.Close() }

// Local returns a connector to this machine, as the user who runs deployer.
func (c *Connector) Local() session.Connector { return local{c} }

type local struct{ *Connector }

// Connect implements session.Connector.
func (l local) Connect(ctx context.Context, host string) (session.Session, error) {
	return l.attach(ctx, localtransport.New(host), remote.Options{Host: host})
}

// Connect implements session.Connector.
func (c *Connector) Connect(ctx context.Context, host string) (session.Session, error) {
	conn, user, o, err := c.dial(ctx, host)
	if err != nil {
		return nil, err
	}
	opened, err := become(ctx, c, user, o, func() (session.Session, error) { return c.attach(ctx, conn, o) })
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return opened, nil
}

// StartAsRoot runs lines for a POSIX shell as root on a host, without the agent; see
// remote.StartAsRoot. The caller closes the program.
func (c *Connector) StartAsRoot(ctx context.Context, host, lines string, terminal bool) (*remote.RootProgram, error) {
	conn, user, o, err := c.dial(ctx, host)
	if err != nil {
		return nil, err
	}
	started, err := become(ctx, c, user, o, func() (*remote.RootProgram, error) { return remote.StartAsRoot(ctx, conn, o, lines, terminal) })
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return started, nil
}

// dial opens a connection to a host, and returns the user whose password is asked for on the
// way to root.
func (c *Connector) dial(ctx context.Context, host string) (transport.Conn, string, remote.Options, error) {
	h, ok := c.targets.inv.Host(host)
	if !ok {
		return nil, "", remote.Options{}, fmt.Errorf("connecting to %s: the inventory has no such host", host)
	}
	password, err := c.targets.credentials.becomePassword(h)
	if err != nil {
		return nil, "", remote.Options{}, err
	}
	target := c.targets.byHost[host]
	conn, err := c.dialer.Dial(ctx, target)
	if err != nil {
		return nil, "", remote.Options{}, err
	}
	o, user := remote.Options{Host: host, Peers: c.services.Peers, Become: remote.Become(h.SSH.Become), Password: password}, target.Login()
	if o.Become == remote.Su {
		user = "root"
	}
	return conn, user, o, nil
}

// become calls start, which becomes root with the password of user if there is one. It does
// not send a password that another host has refused for the same user.
func become[T any](ctx context.Context, c *Connector, user string, o remote.Options, start func() (T, error)) (T, error) {
	var none T
	if o.Password == "" {
		return start()
	}
	turn, err := c.targets.credentials.attempts.Take(ctx, user, o.Password)
	var before *transport.RefusedError
	if errors.As(err, &before) {
		return none, &transport.Error{Host: o.Host, Stage: transport.StageBecome, Kind: transport.BecomePassword, Err: err,
			Advice: "check it (ssh.become_password_env, ssh.become_password_file, --ask-become-pass)"}
	}
	if err != nil {
		return none, err
	}
	started, err := start()
	turn.End(o.Host, err)
	return started, err
}

// attach starts the agent over a connection.
func (c *Connector) attach(ctx context.Context, conn transport.Conn, o remote.Options) (session.Session, error) {
	o.Binaries, o.Blobs, o.Calls, o.Sink = c.binaries, c.services.Blobs, c.services.Calls, c.services.Sink
	o.Heartbeat, o.IdleTimeout = c.keepalive.heartbeat, c.keepalive.idleTimeout
	opened, err := remote.Connect(ctx, conn, o)
	if err != nil {
		return nil, err
	}
	return opened, nil
}
