package main

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"deployer/engine/transport"
)

// maxRefusals is on how many hosts a password may be refused before it is tried
// nowhere else. Where accounts are central, each try counts towards locking them,
// often from the third on.
const maxRefusals = 2

// passwords keeps a wrong password from being tried on host after host. As long
// as no host has taken it, one at a time tries it.
type passwords struct {
	mu sync.Mutex
	of map[string]*tried // by user and password
}

// tried is what became of one password.
type tried struct {
	turn    chan struct{} // a token for who tries it
	good    bool          // valid with the token
	refused []string      // hosts; likewise
}

func (p *passwords) find(user, password string) *tried {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of == nil {
		p.of = map[string]*tried{}
	}
	key := user + "\x00" + password
	if p.of[key] == nil {
		p.of[key] = &tried{turn: make(chan struct{}, 1)}
	}
	return p.of[key]
}

// try connects to a host with a password, if that is still reasonable.
func (p *passwords) try(ctx context.Context, host, user, password string, connect func() error) error {
	if password == "" {
		return connect()
	}
	t := p.find(user, password)
	select {
	case t.turn <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if t.good {
		<-t.turn
		return connect()
	}
	defer func() { <-t.turn }()
	if len(t.refused) >= maxRefusals {
		return &transport.Error{Host: host, Stage: transport.StageBecome, Kind: transport.BecomePassword,
			Err:    fmt.Errorf("the password of user %s was refused on %s", user, strings.Join(t.refused, " and ")),
			Advice: "check it (ssh.become_password_env, ssh.become_password_file); it was tried on no other host, so that the account is not locked"}
	}
	err := connect()
	switch {
	case err == nil:
		t.good = true
	case transport.KindOf(err) == transport.BecomePassword:
		t.refused = append(t.refused, host)
	}
	return err
}
