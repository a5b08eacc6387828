package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"deployer/engine"
	"deployer/engine/codec"
	"deployer/engine/jsonappend"
	"deployer/engine/sanitize"
	"deployer/engine/wire"
)

// maxCalls bounds the calls of one host that are answered at once. A step makes
// one at a time; more is a host that misbehaves.
const maxCalls = 64

// handleCall answers a call in a goroutine of its own.
func (s *Session) handleCall(f wire.Frame) error {
	var m wire.CallMessage
	if err := f.Decode(&m); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.activeCalls == maxCalls {
		return &wire.ProtocolError{Reason: fmt.Sprintf("more than %d calls at once", maxCalls)}
	}
	s.activeCalls++
	s.idle.Go(func() {
		reply := wire.ReplyMessage{}
		out, err := s.dispatchCall(m)
		if err == nil {
			reply.Out, err = json.Marshal(out)
		}
		if err != nil {
			reply.Error = err.Error()
		}
		s.mu.Lock()
		s.activeCalls--
		s.mu.Unlock()
		if err := s.conn.SendJSON(wire.Reply, f.ID, reply); err != nil {
			go s.end(err)
		}
	})
	return nil
}

func (s *Session) dispatchCall(m wire.CallMessage) (any, error) {
	handler := s.opts.Calls[m.Method]
	if handler == nil {
		return nil, fmt.Errorf("the controller answers no call %q", sanitize.Text(m.Method))
	}
	return handler(s.ctx, s.opts.Host, m.In)
}

// Journal returns what the journal on the host says of a run, oldest entry
// first; nothing when the host knows nothing of it.
func (s *Session) Journal(ctx context.Context, run string) ([]engine.JournalEntry, error) {
	m, err := request(ctx, s, s.pages, wire.Journal, wire.JournalMessage{Run: run})
	if err != nil {
		return nil, err
	}
	return entriesOf(m)
}

func entriesOf(m wire.JournalMessage) ([]engine.JournalEntry, error) {
	if m.Error != "" {
		return nil, errors.New(sanitize.Text(m.Error))
	}
	entries := make([]engine.JournalEntry, 0, len(m.Entries))
	for _, raw := range m.Entries {
		var e engine.JournalEntry
		if err := json.Unmarshal(raw, &e); err != nil || e.Step == "" {
			continue // of another version of deployer
		}
		e.Step, e.Status = sanitize.Text(e.Step), engine.Status(sanitize.Text(string(e.Status)))
		entries = append(entries, e)
	}
	return entries, nil
}

// handleJournalPage takes in a journal; one that nobody waits for is not even decoded.
func (s *Session) handleJournalPage(f wire.Frame) error {
	s.mu.Lock()
	awaited := s.pages[f.ID] != nil
	s.mu.Unlock()
	if !awaited {
		return nil
	}
	if weight := jsonappend.Weigh(f.Payload); weight > codec.MaxWeight {
		return &wire.ProtocolError{Reason: fmt.Sprintf("%v message that takes %d bytes of memory, the limit is %d", f.Type, weight, codec.MaxWeight)}
	}
	var m wire.JournalMessage
	if err := f.Decode(&m); err != nil {
		return err
	}
	deliverReply(s, s.pages, f.ID, m)
	return nil
}
