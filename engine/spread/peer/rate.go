package peer

import (
	"context"
	"sync"
	"time"
)

// rate bounds bytes per second. It lets each caller wait for its turn; the order of turns is that
// of the calls.
type rate struct {
	perSecond int64 // 0: without a bound
	mu        sync.Mutex
	next      time.Time // when the next bytes may be sent
}

// wait waits until n bytes may be sent.
func (r *rate) wait(ctx context.Context, n int64) error {
	if r.perSecond <= 0 {
		return nil
	}
	now := time.Now()
	r.mu.Lock()
	if r.next.Before(now) {
		r.next = now
	}
	pause := r.next.Sub(now)
	r.next = r.next.Add(time.Duration(float64(n) / float64(r.perSecond) * float64(time.Second)))
	r.mu.Unlock()
	if pause <= 0 {
		return nil
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
