package schedule

import (
	"context"

	"golang.org/x/sync/semaphore"
)

// boundedSemaphore bounds the number of concurrent operations. Waiters get a slot in the
// order in which they asked.
type boundedSemaphore struct{ *semaphore.Weighted }

func newSemaphore(n int) *boundedSemaphore { return &boundedSemaphore{semaphore.NewWeighted(int64(n))} }

// acquire waits for a slot. The error is the context's cause.
func (s *boundedSemaphore) acquire(ctx context.Context) error {
	if ctx.Err() != nil || s.Acquire(ctx, 1) != nil {
		return context.Cause(ctx)
	}
	return nil
}

func (s *boundedSemaphore) release() { s.Release(1) }

// acquireForks takes one of the run's forks for the operation at op, and before it one
// of its play's forks, if the play has a bound of its own. release returns both.
func (h *host) acquireForks(op int) (release func(), err error) {
	own := h.run.playSemaphores[h.run.prog.Ops[op].Play.Index]
	if own == nil {
		return h.run.forks.release, h.run.forks.acquire(h.stop())
	}
	if err := own.acquire(h.stop()); err != nil {
		return nil, err
	}
	if err := h.run.forks.acquire(h.stop()); err != nil {
		own.release()
		return nil, err
	}
	return func() { h.run.forks.release(); own.release() }, nil
}
