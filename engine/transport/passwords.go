package transport

import (
	"context"
	"fmt"
	"strings"
	"sync"
)

// maxRefusals is on how many hosts a password may be refused before it is tried
// nowhere else. Where accounts are central, each try counts towards locking them,
// often from the third on.
const maxRefusals = 2

// Passwords keeps a wrong password from being tried on host after host. As long
// as no host has taken it, one at a time tries it. The zero value is ready.
type Passwords struct {
	mu sync.Mutex
	of map[string]*tried // by user and password
}

// tried is what became of one password.
type tried struct {
	turn    chan struct{} // a token for who tries it
	good    bool          // valid with the token
	refused []string      // hosts; likewise
}

// Turn is the right to try a password on one host.
type Turn struct {
	of   *tried
	mine bool // the token
}

// RefusedError says that a password is not tried, as hosts have refused it.
type RefusedError struct {
	User string
	On   []string // hosts
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("the password of user %s was refused on %s; it was tried on no other host, so that the account is not locked",
		e.User, strings.Join(e.On, " and "))
}

// Take waits until the password of a user may be tried. The turn must be ended.
// The error is a *RefusedError, or the cause of ctx.
func (p *Passwords) Take(ctx context.Context, user, password string) (*Turn, error) {
	t := p.find(user, password)
	select {
	case t.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if t.good {
		<-t.turn
		return &Turn{of: t}, nil
	}
	if len(t.refused) >= maxRefusals {
		defer func() { <-t.turn }()
		return nil, &RefusedError{User: user, On: t.refused}
	}
	return &Turn{of: t, mine: true}, nil
}

func (p *Passwords) find(user, password string) *tried {
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

// End says what came of the try on a host. An error that has nothing to do with
// the password says nothing about it.
func (t *Turn) End(host string, err error) {
	if !t.mine {
		return
	}
	switch kind := KindOf(err); {
	case err == nil:
		t.of.good = true
	case kind == BecomePassword || kind == LoginPassword:
		t.of.refused = append(t.of.refused, host)
	}
	t.mine = false
	<-t.of.turn
}
