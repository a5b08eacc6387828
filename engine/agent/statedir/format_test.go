package statedir

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
	"deployer/engine/agent/agenttest"
	"deployer/engine/lock"
)

var update = flag.Bool("update", false, "write the golden files of the present format; those of older ones are never written again")

// goldenHolder is the holder of the run lock in each directory state-N of testdata.
var goldenHolder = lock.Holder{Run: "r1", Verb: "run", By: "ann@ci", PID: 12, Since: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)}

// goldenJournal returns the journal in each of these directories.
func goldenJournal() []engine.JournalEntry {
	at := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	return []engine.JournalEntry{
		{Time: at, Step: "1.web.1", Begun: true},
		{Time: at, Step: "1.web.1", Status: engine.StatusChanged, Tries: 1, Elapsed: time.Second},
	}
}

// stateIn copies a golden directory, since reading may change times.
func stateIn(t *testing.T, format string) *Dir {
	t.Helper()
	return Open(agenttest.CopyDir(t, filepath.Join("testdata", format)))
}

// TestFormats: the state directories of all formats are readable and have the same
// content.
func TestFormats(t *testing.T) {
	if *update {
		writeGoldenState(t, filepath.Join("testdata", "state-1"))
	}
	for _, format := range []string{"state-0", "state-1"} {
		s := stateIn(t, format)
		entries, _, err := s.JournalEntries("r1")
		if diff := cmp.Diff(goldenJournal(), entries); diff != "" || err != nil {
			t.Errorf("%s: journal: %v %s", format, err, diff)
		}
		pending, err := s.PendingHandlers()
		if diff := cmp.Diff([]string{"site//reload", "site/web/restart it"}, pending); diff != "" || err != nil {
			t.Errorf("%s: pending handlers: %v %s", format, err, diff)
		}
		f, err := os.Open(filepath.Join(s.Path, "run.lock"))
		if err != nil {
			t.Fatal(err)
		}
		if h := readHolder(f); h.Run != "r1" || h.By != "ann@ci" || h.PID != 12 {
			t.Errorf("%s: holder %+v", format, h)
		}
		_ = f.Close()
		// A later run appends to the same directory.
		if err := s.AddPendingHandlers([]string{"another"}); err != nil {
			t.Error(err)
		}
		if pending, err := s.PendingHandlers(); err != nil || len(pending) != 3 {
			t.Errorf("%s: pending handlers %q, %v", format, pending, err)
		}
	}
}

// TestWrittenFormat: the present writer produces the golden file of the present format.
func TestWrittenFormat(t *testing.T) {
	dir := t.TempDir()
	writeGoldenState(t, dir)
	for _, name := range []string{"runs/r1/journal.jsonl", "owed", "run.lock"} {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		golden, err := os.ReadFile(filepath.Join("testdata", "state-1", name))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(golden), string(got)); diff != "" {
			t.Errorf("%s is not as in its format: give it another number, and read the old one: %s", name, diff)
		}
	}
}

func writeGoldenState(t *testing.T, dir string) {
	t.Helper()
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	s := Open(dir)
	j, err := s.Journal("r1")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range goldenJournal() {
		if err := j.write(e, false); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.AddPendingHandlers([]string{"site//reload", "site/web/restart it"}); err != nil {
		t.Fatal(err)
	}
	s.Close()
	f, err := os.Create(filepath.Join(dir, "run.lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := writeHolder(f, goldenHolder); err != nil {
		t.Fatal(err)
	}
}

// TestNewerFormatsAreRefused: a file of a newer deployer is neither skipped nor
// written to.
func TestNewerFormatsAreRefused(t *testing.T) {
	const newer = `{"format":7,"handlers":{"new":"form"}}` + "\n"
	for name, uses := range map[string]map[string]func(*Dir) error{
		"runs/r1/journal.jsonl": {
			"read":   func(s *Dir) error { _, _, err := s.JournalEntries("r1"); return err },
			"append": func(s *Dir) error { _, err := s.Journal("r1"); return err },
		},
		"owed": {
			"read":   func(s *Dir) error { _, err := s.PendingHandlers(); return err },
			"append": func(s *Dir) error { return s.AddPendingHandlers([]string{"another"}) },
		},
	} {
		for use, do := range uses {
			s := stateIn(t, "state-1")
			path := filepath.Join(s.Path, name)
			if err := os.WriteFile(path, []byte(newer), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := do(s); err == nil || !strings.Contains(err.Error(), name+" has format 7, and this version of deployer knows formats up to 1") {
				t.Errorf("%s, %s: %v", name, use, err)
			}
			if got, _ := os.ReadFile(path); string(got) != newer {
				t.Errorf("%s was changed: %s", name, got)
			}
		}
	}
	s := stateIn(t, "state-1")
	path := filepath.Join(s.Path, "run.lock")
	raw, _ := json.Marshal(map[string]any{"format": 7, "run": map[string]string{"id": "r9"}})
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got := readHolder(f).String(); got != "another run by somebody with a newer deployer" {
		t.Errorf("got %q", got)
	}
}
