package ssh

import (
	"context"
	"errors"
	"fmt"
	"net"

	gossh "golang.org/x/crypto/ssh"

	"deployer/engine/transport"
)

// handshake exchanges keys, verifies the host's key and authenticates.
func handshake(ctx context.Context, raw *activeConn, t Target, keys credentials, login *passwordLogin, known *knownHosts) (*gossh.Client, error) {
	check := &hostKeyCheck{known: known, host: known.host(t.knownAs()), policy: t.HostKeys, hash: t.HashKnownHosts}
	stage, stop := context.WithTimeoutCause(ctx, t.timeout(), context.DeadlineExceeded)
	defer stop()
	// A connection through a bastion has no deadlines, so both kinds are stopped by
	// closing.
	unhook := context.AfterFunc(stage, func() { _ = raw.Close() })
	defer unhook()
	type outcome struct {
		client *gossh.Client
		err    error
	}
	done := make(chan outcome, 1)
	go func() {
		client, err := newClient(raw, t, keys, login, check)
		login.end(err, check.passed.Load() && !isLoss(err))
		done <- outcome{client, err}
	}()
	select {
	case o := <-done:
		if o.err == nil {
			return o.client, nil
		}
		if stage.Err() == nil {
			return nil, check.explain(t, keys, login, o.err)
		}
	case <-stage.Done():
		// The goroutine may hang in the SSH agent, so it is not waited for.
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return nil, tooSlow(t, raw, check)
}

func newClient(raw net.Conn, t Target, keys credentials, login *passwordLogin, check *hostKeyCheck) (*gossh.Client, error) {
	conn, channels, requests, err := gossh.NewClientConn(raw, t.knownAs(), &gossh.ClientConfig{
		User:              t.Login(),
		Auth:              append(keys.methods(), login.methods()...),
		HostKeyCallback:   check.check,
		HostKeyAlgorithms: check.host.algorithms(),
		Config:            gossh.Config{Ciphers: ciphers()},
	})
	if err != nil {
		return nil, err
	}
	return gossh.NewClient(conn, channels, requests), nil
}

// tooSlow returns the error for a handshake that timed out, with the stage it
// reached.
func tooSlow(t Target, raw *activeConn, check *hostKeyCheck) error {
	stage, text := transport.StageHandshake, "the server sent nothing"
	switch {
	case check.passed.Load():
		stage, text = transport.StageAuth, "no end of the authentication"
	case raw.received():
		text = "no end of the key exchange"
	}
	return &transport.Error{Host: t.Host, Stage: stage, Kind: transport.Timeout,
		Err: lateError(fmt.Sprintf("%s within %v", text, t.timeout()))}
}

// explain adds advice to the error of a handshake.
func (c *hostKeyCheck) explain(t Target, keys credentials, login *passwordLogin, err error) error {
	var mismatch *gossh.AlgorithmNegotiationError
	switch {
	case c.err != nil:
		c.err.Host = t.Host
		return c.err
	case errors.As(err, &mismatch):
		return &transport.Error{Host: t.Host, Stage: transport.StageHandshake, Kind: transport.Config, Err: err,
			Advice: "update the host's SSH server: it offers only algorithms that are no longer safe"}
	case isLoss(err) && !c.passed.Load():
		return transport.Classify(t.Host, transport.StageHandshake, fmt.Errorf("the server has closed the connection: %w", err), transport.Lost)
	case !c.passed.Load():
		return notSSH(t, err)
	}
	// After the host key was verified, a refusal is one of the user.
	if isLoss(err) {
		return transport.Classify(t.Host, transport.StageAuth, err, transport.Lost)
	}
	return login.explain(keys.refused(t, err))
}

// notSSH returns the error for a handshake that neither end has ended: a lost
// connection, or a server that is no SSH server.
func notSSH(t Target, err error) error {
	var broken *net.OpError
	if errors.As(err, &broken) {
		return transport.Classify(t.Host, transport.StageHandshake, err, transport.Lost)
	}
	return &transport.Error{Host: t.Host, Stage: transport.StageHandshake, Kind: transport.Config, Err: err,
		Advice: fmt.Sprintf("check that an SSH server, and nothing else, listens on %s", t.address())}
}
