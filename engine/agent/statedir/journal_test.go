package statedir

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"deployer/engine"
)

// TestJournalEntry: the encoder writes an entry as encoding/json does, with all of
// its fields.
func TestJournalEntry(t *testing.T) {
	full := engine.JournalEntry{Time: time.Now(), Step: "2.web.3#1", Begun: true, Status: engine.StatusOK, Tries: 2, Elapsed: time.Second}
	for i, v := 0, reflect.ValueOf(full); i < v.NumField(); i++ {
		if v.Field(i).IsZero() {
			t.Errorf("%s is not tried", v.Type().Field(i).Name)
		}
	}
	for _, e := range []engine.JournalEntry{full, {}, {Time: full.Time.UTC(), Step: "\"1\"\n", Status: engine.StatusFailed}} {
		want, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		if got := appendEntry(nil, e); string(got) != string(want)+"\n" {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}
