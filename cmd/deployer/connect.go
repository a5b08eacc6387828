package main

import (
	"context"
	"fmt"

	"deployer/cmd/deployer/agents"
	"deployer/engine"
	"deployer/engine/agent"
	"deployer/engine/schedule"
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

func newConnector(w *ways, blobs *blobs, calls map[string]agent.CallFunc, sink engine.Sink) *connector {
	return &connector{
		ways:     w,
		dialer:   newDialer(w.inv),
		binaries: agent.NewBinaries(agents.Embedded{}),
		blobs:    blobs,
		calls:    calls,
		sink:     sink,
	}
}

// Connect implements schedule.Connector.
func (c *connector) Connect(ctx context.Context, host string) (schedule.Host, error) {
	h, ok := c.ways.inv.Host(host)
	if !ok {
		return nil, fmt.Errorf("%s is not in the inventory", host)
	}
	conn, err := c.dialer.Dial(ctx, c.ways.targets[host])
	if err != nil {
		return nil, err
	}
	session, err := agent.Connect(ctx, conn, agent.Options{
		Host:     host,
		Binaries: c.binaries,
		Blobs:    c.blobs,
		Calls:    c.calls,
		Sink:     c.sink,
		Become:   agent.Become(h.SSH.Become),
		Password: func() (string, error) { return becomePassword(h) },
	})
	if err != nil {
		return nil, err
	}
	return session, nil
}

func (c *connector) Close() { _ = c.dialer.Close() }
