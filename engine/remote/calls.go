package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"deployer/engine"
	"deployer/engine/jsonappend"
	"deployer/engine/protocol"
	"deployer/engine/protocol/codec"
	"deployer/engine/sanitize"
)

// maxCalls is the maximum number of calls of one host that are answered at a time. A
// step makes one call at a time; a host with more misbehaves.
const maxCalls = 64

// handleCall answers a call in a goroutine of its own.
func (s *Session) handleCall(f protocol.Frame) error {
	var m protocol.CallMessage
	if err := f.Decode(&m); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.activeCalls == maxCalls {
		return &protocol.Error{Reason: fmt.Sprintf("more than %d calls at once", maxCalls)}
	}
	s.activeCalls++
	s.idle.Go(func() {
		reply := protocol.ReplyMessage{}
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
		if err := s.conn.SendJSON(protocol.Reply, f.ID, reply); err != nil {
			go s.end(err)
		}
	})
	return nil
}

// dispatchCall passes a call to its handler and returns the reply.
func (s *Session) dispatchCall(m protocol.CallMessage) (any, error) {
	handler := s.opts.Calls[m.Method]
	if handler == nil {
		return nil, fmt.Errorf("the controller has no method %q", sanitize.Text(m.Method))
	}
	return handler(s.ctx, s.opts.Host, m.In)
}

// Journal returns the entries of a run's journal on the host, oldest first; none
// when the host has no such run.
func (s *Session) Journal(ctx context.Context, run string) ([]engine.JournalEntry, error) {
	m, err := request(ctx, s, s.pages, protocol.Journal, protocol.JournalMessage{Run: run})
	if err != nil {
		return nil, err
	}
	return entriesOf(m)
}

// entriesOf decodes and sanitizes the entries of a journal. An entry that cannot be read is
// an error: without it a step that has changed the host would count as not begun.
func entriesOf(m protocol.JournalMessage) ([]engine.JournalEntry, error) {
	if m.Error != "" {
		return nil, errors.New(sanitize.Text(m.Error))
	}
	entries := make([]engine.JournalEntry, 0, len(m.Entries))
	for i, raw := range m.Entries {
		var e engine.JournalEntry
		err := json.Unmarshal(raw, &e)
		if err == nil && e.Step == "" {
			err = errors.New("it names no step")
		}
		if err != nil {
			return nil, fmt.Errorf("reading the journal on the host: entry %d of %d: %s: continue with the version of deployer that has begun the run",
				i+1, len(m.Entries), sanitize.Text(err.Error()))
		}
		e.Step, e.Status = sanitize.Text(e.Step), engine.Status(sanitize.Text(string(e.Status)))
		entries = append(entries, e)
	}
	return entries, nil
}

// handleJournalPage handles a journal. A journal that no caller waits for is dropped without
// decoding.
func (s *Session) handleJournalPage(f protocol.Frame) error {
	s.mu.Lock()
	awaited := s.pages[f.ID] != nil
	s.mu.Unlock()
	if !awaited {
		return nil
	}
	if weight := jsonappend.Weigh(f.Payload); weight > codec.MaxWeight {
		return &protocol.Error{Reason: fmt.Sprintf("%v message needs %d bytes of memory, the limit is %d", f.Type, weight, codec.MaxWeight)}
	}
	var m protocol.JournalMessage
	if err := f.Decode(&m); err != nil {
		return err
	}
	deliverReply(s, s.pages, f.ID, m)
	return nil
}
