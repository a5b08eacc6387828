package undo

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"deployer/engine"
	"deployer/engine/agent/agenttest"
)

// leave writes a record of a run: the present state of files, or that a step has begun with them.
func leave(t *testing.T, root, run string, left bool, paths ...string) {
	t.Helper()
	var lines strings.Builder
	for _, path := range paths {
		file, err := describeWithDigest(root, path)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := json.Marshal(BackupRecord{Step: "s", Kind: kindFile, Name: path, Left: left, File: file})
		if err != nil {
			t.Fatal(err)
		}
		lines.Write(append(raw, '\n'))
	}
	log := filepath.Join(root+agenttest.StateDir, "runs", run, backupLogFile)
	if err := os.MkdirAll(filepath.Dir(log), 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if _, err := f.WriteString(lines.String()); err != nil {
		t.Fatal(err)
	}
}

func put(t *testing.T, root, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(root+path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(root+path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// differences returns the files that are not as runs left them.
func differences(t *testing.T, s *Store, root string) map[string]string {
	t.Helper()
	left, err := LeftFiles(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for path, l := range left {
		d, err := l.Difference(root)
		if err != nil {
			t.Fatal(err)
		}
		if d != "" {
			out[path] = l.Run + ": " + d
		}
	}
	return out
}

func TestLeftFiles(t *testing.T) {
	s, root := testStore(t)
	for _, name := range []string{"/etc/same", "/etc/edited", "/etc/gone", "/etc/mode", "/etc/twice", "/etc/back", "/etc/interrupted"} {
		put(t, root, name, "one")
	}
	if err := os.Symlink("same", root+"/etc/link"); err != nil {
		t.Fatal(err)
	}
	leave(t, root, "r1", true, "/etc/same", "/etc/edited", "/etc/gone", "/etc/mode", "/etc/twice", "/etc/link", "/etc/interrupted")
	if err := os.Remove(root + "/etc/back"); err != nil {
		t.Fatal(err)
	}
	leave(t, root, "r1", true, "/etc/back") // the run has removed it
	put(t, root, "/etc/twice", "two")
	leave(t, root, "r2", true, "/etc/twice")
	leave(t, root, "r2", false, "/etc/interrupted")
	put(t, root, "/etc/interrupted", "half")
	if got := differences(t, s, root); len(got) > 0 {
		t.Fatalf("differences %v after the runs", got)
	}
	put(t, root, "/etc/edited", "two")
	put(t, root, "/etc/back", "again")
	if err := os.Remove(root + "/etc/gone"); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(root+"/etc/mode", 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(root + "/etc/link"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("other", root+"/etc/link"); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"/etc/edited": "r1: its content has changed", "/etc/gone": "r1: it is gone", "/etc/mode": "r1: its owner or mode has changed",
		"/etc/back": "r1: it is there again", "/etc/link": "r1: the link leads elsewhere",
	}
	check := func(when string) {
		t.Helper()
		got := differences(t, s, root)
		for path, text := range want {
			if got[path] != text {
				t.Errorf("%s: %s: %q, want %q", when, path, got[path], text)
			}
		}
		if len(got) != len(want) {
			t.Errorf("%s: differences %v", when, got)
		}
	}
	check("with all records")
	if err := s.keepLeft([]string{"r1"}); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(root + agenttest.StateDir + "/runs/r1"); err != nil {
		t.Fatal(err)
	}
	check("without the records of the first run")
	if err := s.keepLeft([]string{"r2"}); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(root + agenttest.StateDir + "/runs/r2"); err != nil {
		t.Fatal(err)
	}
	check("without any record")
}

// TestLeftFilesOfALaterRun: the records of the last run are removed first, because somebody has read those of the
// first one for a revert. What the last run left counts all the same, also after those of the first one are gone.
func TestLeftFilesOfALaterRun(t *testing.T) {
	s, root := testStore(t)
	for i, run := range []string{"first", "last"} {
		put(t, root, "/etc/twice", run)
		put(t, root, "/etc/interrupted", run)
		leave(t, root, run, true, "/etc/twice")
		leave(t, root, run, i == 0, "/etc/interrupted")
		entry, err := json.Marshal(engine.JournalEntry{Step: "s", Status: engine.StatusChanged, Time: time.Now().Add(time.Duration(i) * time.Hour)})
		if err != nil {
			t.Fatal(err)
		}
		put(t, root, agenttest.StateDir+"/runs/"+run+"/journal.jsonl", string(entry)+"\n")
	}
	for _, gone := range []string{"last", "first"} {
		if err := s.keepLeft([]string{gone}); err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(root + agenttest.StateDir + "/runs/" + gone); err != nil {
			t.Fatal(err)
		}
		if got := differences(t, s, root); len(got) > 0 {
			t.Errorf("without the records of the %s run: differences %v", gone, got)
		}
	}
	left, err := LeftFiles(s.dir)
	if err != nil || left["/etc/twice"].Run != "last" {
		t.Errorf("%+v, %v", left, err)
	}
}
