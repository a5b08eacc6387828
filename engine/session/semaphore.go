package session

import (
	"context"

	"golang.org/x/sync/semaphore"
)

// Semaphore bounds the number of concurrent operations. Waiters get a slot in the order in
// which they asked.
type Semaphore struct{ weighted *semaphore.Weighted }

// NewSemaphore returns a semaphore with n slots.
func NewSemaphore(n int) *Semaphore { return &Semaphore{semaphore.NewWeighted(int64(n))} }

// Acquire waits for a slot. The error is the context's cause.
func (s *Semaphore) Acquire(ctx context.Context) error {
	if ctx.Err() != nil || s.weighted.Acquire(ctx, 1) != nil {
		return context.Cause(ctx)
	}
	return nil
}

// Release returns a slot.
func (s *Semaphore) Release() { s.weighted.Release(1) }
