package main

import (
	"context"
	"errors"
	"fmt"

	"deployer/cmd/deployer/agents"
	"deployer/engine"
	"deployer/engine/agent"
	"deployer/engine/schedule"
	"deployer/engine/transport"
	localtransport "deployer/engine/transport/local"
	"deployer/engine/transport/ssh"
)

// connector opens agent sessions over SSH.
type connector struct {
	ways     *ways
	dialer   *ssh.Dialer
	binaries *agent.Binaries
	blobs    agent.Blobs
	calls    map[string]agent.CallFunc
	sink     engine.Sink
}

func newConnector(w *ways, d *ssh.Dialer, blobs *blobs, calls map[string]agent.CallFunc, sink engine.Sink) *connector {
	return &connector{
		ways:     w,
		dialer:   d,
		binaries: agent.NewBinaries(agents.Embedded{}),
		blobs:    blobs,
		calls:    calls,
		sink:     sink,
	}
}

// local opens agent sessions on this machine, as the user who runs deployer.
type local struct{ *connector }

// Connect implements schedule.Connector.
func (l local) Connect(ctx context.Context, host string) (schedule.Host, error) {
	return l.attach(ctx, localtransport.New(host), agent.Options{Host: host})
}

// Connect implements schedule.Connector.
func (c *connector) Connect(ctx context.Context, host string) (schedule.Host, error) {
	h, ok := c.ways.inv.Host(host)
	if !ok {
		return nil, fmt.Errorf("%s is not in the inventory", host)
	}
	password, err := c.ways.logins.becomePassword(h)
	if err != nil {
		return nil, err
	}
	target := c.ways.targets[host]
	conn, err := c.dialer.Dial(ctx, target)
	if err != nil {
		return nil, err
	}
	become, whose := agent.Become(h.SSH.Become), target.Login()
	if become == agent.Su {
		whose = "root"
	}
	session, err := c.become(ctx, conn, whose, agent.Options{Host: host, Become: become, Password: password})
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return session, nil
}

// become starts the agent as root, with the password of a user if there is one.
func (c *connector) become(ctx context.Context, conn transport.Conn, whose string, o agent.Options) (schedule.Host, error) {
	if o.Password == "" {
		return c.attach(ctx, conn, o)
	}
	turn, err := c.ways.logins.refused.Take(ctx, whose, o.Password)
	var before *transport.RefusedError
	if errors.As(err, &before) {
		return nil, &transport.Error{Host: o.Host, Stage: transport.StageBecome, Kind: transport.BecomePassword, Err: err,
			Advice: "check it (ssh.become_password_env, ssh.become_password_file, --ask-become-pass)"}
	}
	if err != nil {
		return nil, err
	}
	session, err := c.attach(ctx, conn, o)
	turn.End(o.Host, err)
	return session, err
}

// attach starts the agent over a connection.
func (c *connector) attach(ctx context.Context, conn transport.Conn, o agent.Options) (schedule.Host, error) {
	o.Binaries, o.Blobs, o.Calls, o.Sink = c.binaries, c.blobs, c.calls, c.sink
	session, err := agent.Connect(ctx, conn, o)
	if err != nil {
		return nil, err
	}
	return session, nil
}

func (c *connector) Close() { _ = c.dialer.Close() }
