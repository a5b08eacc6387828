package ssh

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

// OpenSSH randomly refuses unauthenticated connections from the eleventh on
// (MaxStartups 10:30:100). A fleet behind one address, or behind one bastion, must stay
// below that.
const (
	maxHandshakes = 8
	// maxOpens is the maximum number of connections being opened through one bastion.
	maxOpens = 32
)

// handshakeLimits limits the handshakes in flight for each server.
type handshakeLimits struct {
	perHost int

	mu sync.Mutex
	of map[string]chan struct{}
}

// acquire waits for room and returns the function that gives it back.
func (g *handshakeLimits) acquire(ctx context.Context, name string) (leave func(), err error) {
	semaphore := g.semaphore(name)
	select {
	case semaphore <- struct{}{}:
		return func() { <-semaphore }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// shared reports whether other handshakes are in flight too.
func (g *handshakeLimits) shared(name string) bool { return len(g.semaphore(name)) > 1 }

func (g *handshakeLimits) semaphore(name string) chan struct{} {
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

// maxTurns is the number of attempts for a connection that the server closes before
// it has identified itself, because others may use up its limit: about three seconds
// in all.
const maxTurns = 5

// acquireSlot waits before attempt n; n is 1 for the second one.
func acquireSlot(ctx context.Context, try int) error {
	wait := 200 * time.Millisecond << (try - 1)
	wait += time.Duration(rand.Int64N(int64(wait) / 2)) // jitter, so that hosts do not retry at the same time
	select {
	case <-time.After(wait):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
