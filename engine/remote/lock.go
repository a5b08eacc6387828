package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"deployer/engine/lock"
	"deployer/engine/protocol"
	"deployer/engine/sanitize"
)

// Lock takes the run lock of the host, until Unlock or until the agent of this
// session ends. The error is a *lock.Held when another run has the lock.
func (s *Session) Lock(ctx context.Context, holder lock.Holder) error {
	data, err := json.Marshal(holder)
	if err != nil {
		return fmt.Errorf("encoding the holder of a lock: %w", err)
	}
	answer, err := s.requestLock(ctx, protocol.LockMessage{Holder: data})
	if err != nil {
		return err
	}
	if len(answer.Holder) == 0 {
		s.mu.Lock()
		s.pendingHandlers = answer.PendingHandlers
		s.mu.Unlock()
		return nil
	}
	held := &lock.Held{Host: s.opts.Host}
	if err := json.Unmarshal(answer.Holder, &held.By); err != nil {
		return fmt.Errorf("%s: another run holds the run lock, and its name cannot be decoded: %w", s.opts.Host, err)
	}
	sanitizeHolder(&held.By)
	return held
}

// sanitizeHolder sanitizes all texts of the holder of a lock.
func sanitizeHolder(h *lock.Holder) {
	h.Run, h.Verb, h.By = sanitize.Line(h.Run), sanitize.Line(h.Verb), sanitize.Line(h.By)
}

// Unlock releases the run lock; without one it does nothing.
func (s *Session) Unlock(ctx context.Context) error {
	_, err := s.requestLock(ctx, protocol.LockMessage{})
	return err
}

func (s *Session) requestLock(ctx context.Context, question protocol.LockMessage) (protocol.LockMessage, error) {
	m, err := request(ctx, s, s.locks, protocol.Lock, question)
	if err == nil && m.Error != "" {
		err = errors.New(sanitize.Text(m.Error))
	}
	return m, err
}

func (s *Session) handleLocked(f protocol.Frame) error {
	var m protocol.LockMessage
	if err := f.Decode(&m); err != nil {
		return err
	}
	deliverReply(s, s.locks, f.ID, m)
	return nil
}
