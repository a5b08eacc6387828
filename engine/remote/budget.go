package remote

import (
	"context"
	"sync"
)

// What a session keeps of what its host has said and nobody has taken yet, in
// bytes of memory. A host that says more waits, as its messages are not read
// meanwhile; text for people is dropped instead.
const (
	maxWaiting     = 64 << 20
	maxWaitingText = 256 << 10
)

// Bounds of what a step says while it runs, in bytes: what is beyond is not shown.
const (
	maxProgress     = 4 << 10 // of one text
	maxStepProgress = 1 << 20 // of all texts of a step
)

// budget bounds memory in bytes. It is safe for concurrent use.
type budget struct {
	mu    sync.Mutex
	limit int
	used  int
	freed chan struct{} // closed when used becomes less; nil when nobody waits
}

// take takes n bytes as soon as there is room for them. Something that is larger
// than the budget has it for itself. It returns false when ctx ends, or gone is
// closed, before that.
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

// tryTake takes n bytes if there is room for them.
func (b *budget) tryTake(n int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.used+n > b.limit {
		return false
	}
	b.used += n
	return true
}

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
