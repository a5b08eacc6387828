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

// RecordEntry is a record of a run on a host, as the host lists it.
type RecordEntry = protocol.RecordEntry

// AppendRecord appends data, at most protocol.RecordPart bytes, to the host's record of
// a run, and returns the record's size. When the record does not end at offset, the host
// writes nothing. AppendRecord waits for a slow disk as long as ctx and the session
// last.
func (s *Session) AppendRecord(ctx context.Context, run string, offset int64, data []byte) (size int64, err error) {
	m, err := s.requestRecord(ctx, protocol.RecordMessage{Verb: protocol.RecordAppend, Run: run, Offset: offset, Data: data})
	return m.Size, err
}

// ReadRecord returns the next part of the host's record of a run, from offset on, and
// the size of the whole. An empty part is the end.
func (s *Session) ReadRecord(ctx context.Context, run string, offset int64) (data []byte, size int64, err error) {
	m, err := s.requestRecord(ctx, protocol.RecordMessage{Verb: protocol.RecordRead, Run: run, Offset: offset})
	if err == nil && m.Offset != offset {
		err = fmt.Errorf("%s answers with another part of the record of run %s", s.opts.Host, run)
	}
	return m.Data, m.Size, err
}

// ListRecords returns the records on the host, and the holder of the host's run lock;
// nil when nobody holds it. Names of runs with control characters are left out; the others
// need not be names of files.
func (s *Session) ListRecords(ctx context.Context) ([]RecordEntry, *lock.Holder, error) {
	m, err := s.requestRecord(ctx, protocol.RecordMessage{Verb: protocol.RecordList})
	if err != nil {
		return nil, nil, err
	}
	var out []RecordEntry
	for _, r := range m.Records {
		if r.Run == sanitize.Line(r.Run) && r.Size >= 0 {
			out = append(out, r)
		}
	}
	if len(m.Holder) == 0 {
		return out, nil, nil
	}
	var holder lock.Holder
	if err := json.Unmarshal(m.Holder, &holder); err != nil {
		return nil, nil, fmt.Errorf("%s: the holder of the run lock cannot be decoded: %w", s.opts.Host, err)
	}
	sanitizeHolder(&holder)
	return out, &holder, nil
}

// requestRecord sends a Record message and waits for the answer. Unlike request it has
// no time limit of its own: a keeper with a slow disk must not cost a run its session.
func (s *Session) requestRecord(ctx context.Context, ask protocol.RecordMessage) (protocol.RecordMessage, error) {
	var none protocol.RecordMessage
	answer := make(chan protocol.RecordMessage, 1)
	s.mu.Lock()
	s.nextID++
	id := s.nextID
	s.records[id] = answer
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.records, id)
		s.mu.Unlock()
	}()
	if err := s.conn.SendRecord(protocol.Record, id, ask); err != nil {
		var wrong *protocol.Error
		if errors.As(err, &wrong) {
			return none, err // nothing was sent
		}
		s.end(err)
		return none, s.Err()
	}
	select {
	case m := <-answer:
		if m.Error != "" {
			return m, errors.New(sanitize.Text(m.Error))
		}
		return m, nil
	case <-ctx.Done():
		return none, context.Cause(ctx)
	case <-s.ctx.Done():
		return none, s.Err()
	}
}

// handleRecordReply passes an answer on. An answer that no caller waits for is dropped without
// decoding.
func (s *Session) handleRecordReply(f protocol.Frame) error {
	s.mu.Lock()
	awaited := s.records[f.ID] != nil
	s.mu.Unlock()
	if !awaited {
		return nil
	}
	m, err := f.RecordMessage()
	if err != nil {
		return err
	}
	m.Data = append([]byte(nil), m.Data...) // the payload is recycled
	deliverReply(s, s.records, f.ID, m)
	return nil
}
