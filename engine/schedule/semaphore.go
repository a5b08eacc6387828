package schedule

import (
	"context"
	"sync"
)

// slots bounds how many of something happen at one time; those who wait are
// served in the order in which they came.
type slots struct {
	mu    sync.Mutex
	free  int
	queue []chan struct{}
}

func newSlots(n int) *slots { return &slots{free: n} }

// acquire waits for a slot. The error is the context's cause.
func (s *slots) acquire(ctx context.Context) error {
	s.mu.Lock()
	if ctx.Err() != nil {
		s.mu.Unlock()
		return context.Cause(ctx)
	}
	if s.free > 0 {
		s.free--
		s.mu.Unlock()
		return nil
	}
	turn := make(chan struct{})
	s.queue = append(s.queue, turn)
	s.mu.Unlock()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	for i, q := range s.queue {
		if q == turn {
			s.queue = append(s.queue[:i], s.queue[i+1:]...)
			s.mu.Unlock()
			return context.Cause(ctx)
		}
	}
	s.mu.Unlock()
	s.release() // the turn came at the same moment
	return context.Cause(ctx)
}

func (s *slots) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) > 0 {
		close(s.queue[0])
		s.queue = s.queue[1:]
		return
	}
	s.free++
}

// acquireForks takes one of the run's forks for the operation at op, and before it one
// of its play's if that has its own; release gives both back.
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
