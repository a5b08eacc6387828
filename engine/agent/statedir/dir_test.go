package statedir

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"deployer/engine"
	"deployer/engine/agent/agenttest"
)

func testState(t *testing.T) (*Dir, string) {
	t.Helper()
	root := t.TempDir()
	return Open(filepath.Join(root, agenttest.StateDir)), root
}

func TestJournalSurvivesAPowerCut(t *testing.T) {
	s, root := testState(t)
	agenttest.WriteAged(t, root+agenttest.StateDir+"/runs/r1/journal.jsonl", `{"step":"a","begun":true}`+"\n"+`{"step":"b","be`, 0o600, 0)
	log, err := s.Journal("r1")
	if err != nil {
		t.Fatal(err)
	}
	result := engine.Result{Step: "c", Name: "hunter2", Status: engine.StatusFailed, Reason: "hunter2", Output: engine.Output{"x": "hunter2"},
		Change: &engine.Change{Needed: true}, Failure: &engine.Failure{Message: "hunter2", Detail: "hunter2"}}
	if err := log.End(result, true); err != nil {
		t.Fatal(err)
	}
	entries, err := s.ReadJournal("r1")
	if err != nil || len(entries) != 2 {
		t.Fatalf("%s, %v", entries, err)
	}
	var last engine.JournalEntry
	if err := json.Unmarshal(entries[1], &last); err != nil || last.Step != "c" || last.Status != engine.StatusFailed {
		t.Errorf("%s, %v", entries[1], err)
	}
	if strings.Contains(string(entries[1]), "hunter2") {
		t.Errorf("the journal has more than the outcome of the step: %s", entries[1])
	}
	s.Close()
}

func TestFullDiskStopsBeforeTheChange(t *testing.T) {
	// /dev/full is a disk without space.
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	j := &Journal{file: full}
	if err := j.Begin("a", false); err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("got %v", err)
	}
}

func TestLockEndsWithItsContextAndTheConnection(t *testing.T) {
	s, root := testState(t)
	unlock, err := s.Lock(t.Context(), nil, func(string) { t.Error("had to wait") })
	if err != nil {
		t.Fatal(err)
	}
	again, err := s.Lock(t.Context(), nil, nil) // of the same agent
	if err != nil {
		t.Fatal(err)
	}
	other := Open(filepath.Join(root, agenttest.StateDir))
	cause := errors.New("enough")
	ctx, stop := context.WithCancelCause(t.Context())
	if _, err := other.Lock(ctx, nil, func(string) { stop(cause) }); !errors.Is(err, cause) {
		t.Errorf("got %v", err)
	}
	gone := make(chan struct{})
	if _, err := other.Lock(t.Context(), gone, func(string) { close(gone) }); err == nil || !strings.Contains(err.Error(), "lost") {
		t.Errorf("got %v", err)
	}
	unlock()
	reported := false
	time.AfterFunc(50*time.Millisecond, again)
	unlock, err = other.Lock(t.Context(), nil, func(string) { reported = true })
	if err != nil || !reported {
		t.Fatalf("%v, reported %v", err, reported)
	}
	unlock()
}
