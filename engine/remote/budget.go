package remote

import (
	"context"
	"sync"
)

// Limits of the memory for messages that Run has not delivered yet, in bytes. Beyond
// the first, the session stops reading, so that the host waits; text for people beyond
// the second is dropped.
const (
	maxWaiting     = 64 << 20
	maxWaitingText = 256 << 10
)

// Limits of the progress texts of a step in bytes; text beyond them is dropped.
const (
	maxProgress     = 4 << 10 // of one text
	maxStepProgress = 1 << 20 // of all texts of a step
)

// budget limits memory in bytes. budget is safe for concurrent use.
type budget struct {
	mu    sync.Mutex
	limit int
	used  int
	freed chan struct{} // closed when used shrinks; nil when nobody waits
}

// take takes n bytes as soon as they fit. More than the whole budget fits only when
// nothing else is taken. take returns false when ctx ends or gone is closed first.
func (b *budget) take(ctx context.Context, gone <-chan struct{}, n int) bool {
	for {
		b.mu.Lock()
		if b.used == 0 || b.used+n <= b.limit {
			b.used += n
			b.mu.Unlock()
			return true
		}
		if b.freed == nil {
			b.freed = make(chan struct{})
		}
		less := b.freed
		b.mu.Unlock()
		select {
		case <-less:
		case <-gone:
			return false
		case <-ctx.Done():
			return false
		}
	}
}

// tryTake takes n bytes if they fit, and reports whether they did.
func (b *budget) tryTake(n int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.used+n > b.limit {
		return false
	}
	b.used += n
	return true
}

// free gives n bytes back.
func (b *budget) free(n int) {
	if n == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= n
	if b.freed != nil {
		close(b.freed)
		b.freed = nil
	}
}
