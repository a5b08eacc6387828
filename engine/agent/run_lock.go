package agent

import (
	"encoding/json"
	"fmt"

	"deployer/engine/lock"
	"deployer/engine/protocol"
	"deployer/engine/sanitize"
)

// lockFrame takes the run lock for the holder in the message, or releases it when
// the message has none, and sends the outcome.
func (s *server) lockFrame(f protocol.Frame) error {
	var ask, answer protocol.LockMessage
	if err := f.Decode(&ask); err != nil {
		return err
	}
	if len(ask.Holder) == 0 {
		s.runLock.Release()
		return s.conn.SendJSON(protocol.Locked, f.ID, answer)
	}
	var holder lock.Holder
	if err := json.Unmarshal(ask.Holder, &holder); err != nil {
		return &protocol.Error{Reason: fmt.Sprintf("holder of the lock: %v", err)}
	}
	other, err := s.runLock.Take(holder)
	if err != nil {
		answer.Error = sanitize.CutStart(err.Error(), 1<<10)
	}
	if other != nil {
		if answer.Holder, err = json.Marshal(other); err != nil {
			return err
		}
	}
	if answer.Error == "" && other == nil {
		answer.PendingHandlers, _ = s.state.PendingHandlers() // the hello has reported an error
	}
	return s.conn.SendJSON(protocol.Locked, f.ID, answer)
}
