package agent

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"deployer/engine"
	"deployer/engine/protocol"
)

// sessionPoll is the interval at which an agent without controller looks for other sessions.
const sessionPoll = 500 * time.Millisecond

// unattendedRestore is the restore that the agent does when it loses the controller now.
type unattendedRestore struct {
	engine.UnattendedRestore
	run     string
	resumes []string
}

// arm sets what the agent does when it loses the controller; nil for nothing.
func (s *server) arm(step *stepRun, restore *engine.UnattendedRestore) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ifLost = nil
	if restore != nil {
		s.ifLost = &unattendedRestore{*restore, step.run, step.resumes}
	}
}

func (s *server) isArmed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ifLost != nil
}

// restoreUnattended restores what the rollout has changed, when the agent has lost the
// controller inside of one and no session with any controller begins in time. The journal has
// the results.
func (s *server) restoreUnattended(ctx context.Context) {
	if !s.isArmed() || errors.Is(s.cause, errGoodbye) {
		return
	}
	holder, locked := s.runLock.Current()
	s.runLock.Release() // another run may go on
	if !s.staysAlone(ctx, s.ifLost.After) {
		return
	}
	if locked {
		holder.Draining = true
		if other, err := s.runLock.Take(holder); other != nil || err != nil {
			return
		}
	}
	alone := &server{opts: s.opts, registry: s.registry, state: s.state, backups: s.backups, runLock: s.runLock,
		gone: make(chan struct{}), conn: protocol.NewConn(strings.NewReader(""), io.Discard, protocol.AgentEnd),
		segments: map[uint32]*runningSegment{}, calls: map[uint32]chan protocol.ReplyMessage{},
		blobs: map[uint32]*download{}, fetching: map[string]chan struct{}{}}
	seg := engine.Segment{Run: s.ifLost.run, ResumedRuns: s.ifLost.resumes, Steps: s.ifLost.Steps}
	_ = alone.runSegment(ctx, 0, seg, &runningSegment{finish: make(chan struct{})}) // nobody can be told
}

// staysAlone waits, and reports whether no other session has begun meanwhile.
func (s *server) staysAlone(ctx context.Context, wait time.Duration) bool {
	end := time.NewTimer(wait)
	defer end.Stop()
	poll := time.NewTicker(sessionPoll)
	defer poll.Stop()
	for ended := false; !ended; {
		select {
		case <-end.C:
			ended = true
		case <-poll.C:
		case <-ctx.Done():
			return false
		}
		if mark, err := s.state.SessionMark(); err != nil || mark != s.mark {
			return false
		}
	}
	return true
}
