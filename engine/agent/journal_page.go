package agent

import (
	"encoding/json"

	"deployer/engine/protocol"
	"deployer/engine/sanitize"
)

// maxPage bounds the bytes of entries in one message. A journal has a few hundred
// kB; of a larger one the newest entries are sent.
const maxPage = protocol.MaxJournal - 256<<10

// sendJournal answers a request for the journal of a run.
func (s *server) sendJournal(f protocol.Frame) error {
	var ask protocol.JournalMessage
	if err := f.Decode(&ask); err != nil {
		return err
	}
	s.steps.Go(func() {
		page := protocol.JournalMessage{Run: ask.Run}
		entries, err := s.state.ReadJournal(ask.Run)
		if err != nil {
			page.Error = sanitize.CutStart(err.Error(), maxText)
		}
		page.Entries = newest(entries, maxPage)
		_ = s.conn.SendJSON(protocol.JournalPage, f.ID, page)
	})
	return nil
}

// newest returns the last entries that fit into limit bytes.
func newest(entries []json.RawMessage, limit int) []json.RawMessage {
	size := 0
	for i := len(entries) - 1; i >= 0; i-- {
		if size += len(entries[i]) + 1; size > limit {
			return entries[i+1:]
		}
	}
	return entries
}
