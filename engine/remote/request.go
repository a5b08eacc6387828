package remote

import (
	"context"
	"fmt"
	"time"

	"deployer/engine/protocol"
)

// requestTimeouts is the number of Options.Timeout within which a host must answer a
// request for its journal or its lock. Both are on its disk, which may be busy; a
// host that only answers heartbeats would block the run.
const requestTimeouts = 4

// pendingRequests are the unanswered requests of one type, by frame id. Session.mu
// is held for access.
type pendingRequests[T any] map[uint32]chan T

// request sends a request and waits for the answer. A host that does not answer in
// time loses its session.
func request[T any](ctx context.Context, s *Session, open pendingRequests[T], kind protocol.Type, question T) (T, error) {
	var none T
	answer := make(chan T, 1)
	s.mu.Lock()
	s.nextID++
	id := s.nextID
	open[id] = answer
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(open, id)
		s.mu.Unlock()
	}()
	if err := s.conn.SendJSON(kind, id, question); err != nil {
		s.end(err)
		return none, s.Err()
	}
	limit := requestTimeouts * s.opts.Timeout
	late := time.NewTimer(limit)
	defer late.Stop()
	select {
	case m := <-answer:
		return m, nil
	case <-late.C:
		s.end(&protocol.Error{Reason: fmt.Sprintf("no answer to a %v message within %v", kind, limit)})
		return none, s.Err()
	case <-ctx.Done():
		return none, context.Cause(ctx)
	case <-s.ctx.Done():
		return none, s.Err()
	}
}

// deliverReply passes an answer to the request that waits for it, if any does.
func deliverReply[T any](s *Session, open pendingRequests[T], id uint32, m T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if answer := open[id]; answer != nil {
		delete(open, id)
		answer <- m
	}
}
