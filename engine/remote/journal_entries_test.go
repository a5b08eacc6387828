package remote

import (
	"encoding/json"
	"strings"
	"testing"

	"deployer/engine/protocol"
)

// TestUnreadableEntriesOfJournals: an entry that cannot be read is an error, because the step
// in it has changed the host.
func TestUnreadableEntriesOfJournals(t *testing.T) {
	t.Parallel()
	good := json.RawMessage(`{"step":"1.a","status":"changed"}`)
	for name, tt := range map[string]struct {
		entries []json.RawMessage
		wrong   string // part of the error; empty for none
	}{
		"none":            {nil, ""},
		"known":           {[]json.RawMessage{good, good}, ""},
		"a further field": {[]json.RawMessage{json.RawMessage(`{"step":"1.b","reason":"x"}`)}, ""},
		"another type":    {[]json.RawMessage{good, json.RawMessage(`{"step":{"id":"1.b"}}`)}, "entry 2 of 2"},
		"no step":         {[]json.RawMessage{json.RawMessage(`{"id":"1.b"}`), good}, "entry 1 of 2: it names no step"},
	} {
		got, err := entriesOf(protocol.JournalMessage{Entries: tt.entries})
		if (err == nil) != (tt.wrong == "") || err != nil && !strings.Contains(err.Error(), tt.wrong) {
			t.Errorf("%s: %v, want %q", name, err, tt.wrong)
		}
		if err == nil && len(got) != len(tt.entries) {
			t.Errorf("%s: %d entries of %d", name, len(got), len(tt.entries))
		}
	}
}
