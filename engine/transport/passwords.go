package transport

import (
	"context"
	"fmt"
	"strings"
	"sync"
)

// maxRefusals is the number of hosts that may refuse a password before it is tried
// nowhere else. With central accounts each try counts towards locking the account,
// often from the third on.
const maxRefusals = 2

// Passwords prevents that a wrong password is tried on host after host: until a host
// has accepted a password, one host at a time tries it. The zero value is ready to
// use.
type Passwords struct {
	mu sync.Mutex
	of map[string]*tried // by user and password
}

// tried is the state of one password.
type tried struct {
	turn    chan struct{} // a mutex that select can wait for: one token
	good    bool          // a host has accepted the password; guarded by turn
	refused []string      // hosts that refused the password; guarded by turn
}

// Attempt is the right to try a password on one host.
type Attempt struct {
	of   *tried
	mine bool // this turn holds the token
}

// RefusedError says that a password is not tried because other hosts have refused
// it.
type RefusedError struct {
	User string
	On   []string // hosts
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("the password of user %s was refused on %s and is not tried on other hosts, so that the account is not locked",
		e.User, strings.Join(e.On, " and "))
}

// Take waits until the password of a user may be tried. The caller must end the
// turn. The error is a *RefusedError, or the cause of ctx.
func (p *Passwords) Take(ctx context.Context, user, password string) (*Attempt, error) {
	t := p.find(user, password)
	select {
	case t.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if t.good {
		<-t.turn
		return &Attempt{of: t}, nil
	}
	if len(t.refused) >= maxRefusals {
		defer func() { <-t.turn }()
		return nil, &RefusedError{User: user, On: t.refused}
	}
	return &Attempt{of: t, mine: true}, nil
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

// End ends the turn with the outcome of the login on a host. An error unrelated to
// the password decides nothing.
func (t *Attempt) End(host string, err error) {
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
