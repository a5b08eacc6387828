package agent

import (
	"context"
	"encoding/json"
	"errors"

	"deployer/engine/protocol"
)

// call calls a method of the controller and returns its reply. The error is the
// controller's, the cause of ctx, or that of the lost connection.
func (s *server) call(ctx context.Context, method string, in json.RawMessage) (json.RawMessage, error) {
	reply := make(chan protocol.ReplyMessage, 1)
	s.mu.Lock()
	s.nextID++
	id := s.nextID
	s.calls[id] = reply
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.calls, id)
		s.mu.Unlock()
	}()
	if err := s.conn.SendJSON(protocol.Call, id, protocol.CallMessage{Method: method, In: in}); err != nil {
		return nil, err
	}
	select {
	case r := <-reply:
		if r.Error != "" {
			return nil, errors.New(r.Error)
		}
		return r.Out, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-s.gone:
		return nil, s.lostError()
	}
}

// handleReply passes a reply to the call that waits for it. A reply to a call that
// has ended is dropped.
func (s *server) handleReply(f protocol.Frame) error {
	var m protocol.ReplyMessage
	if err := f.Decode(&m); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if reply := s.calls[f.ID]; reply != nil {
		delete(s.calls, f.ID)
		reply <- m
	}
	return nil
}
