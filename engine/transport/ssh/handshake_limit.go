package ssh

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

// OpenSSH turns connections away that are not yet authenticated, from the
// eleventh on at random (MaxStartups 10:30:100). A fleet behind one address, or
// many bastions on one, must not meet that.
const (
	maxHandshakes = 8
	// maxOpens bounds the connections through one bastion that are on their way.
	maxOpens = 32
)

// handshakeLimits bound what goes on at once for each name.
type handshakeLimits struct {
	perHost int

	mu sync.Mutex
	of map[string]chan struct{}
}

// acquire waits for room and returns what gives it back.
func (g *handshakeLimits) acquire(ctx context.Context, name string) (leave func(), err error) {
	gate := g.gate(name)
	select {
	case gate <- struct{}{}:
		return func() { <-gate }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// shared says whether somebody else has entered, too.
func (g *handshakeLimits) shared(name string) bool { return len(g.gate(name)) > 1 }

func (g *handshakeLimits) gate(name string) chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.of == nil {
		g.of = map[string]chan struct{}{}
	}
	if g.of[name] == nil {
		g.of[name] = make(chan struct{}, g.perHost)
	}
	return g.of[name]
}

// maxTurns is how often a connection is tried that the server ends before it
// shows who it is: others may be using up what it allows. All in all about
// three seconds.
const maxTurns = 5

// acquireSlot waits before the given try, 1 for the second one.
func acquireSlot(ctx context.Context, try int) error {
	wait := 200 * time.Millisecond << (try - 1)
	wait += time.Duration(rand.Int64N(int64(wait) / 2)) // not all at the same time
	select {
	case <-time.After(wait):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
