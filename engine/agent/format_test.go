package agent

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
	"deployer/engine/lock"
)

var update = flag.Bool("update", false, "write the golden files of the present format; those of older ones are never written again")

// goldenState is what each directory state-N of testdata holds, in its format.
func goldenKept() []BackupRecord {
	at := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	file := &File{Mode: 0o640, UID: 1, GID: 2, Size: 4, ModTime: at, Inode: 7, Digest: "9f2c"}
	return []BackupRecord{
		{Step: "1.web.1", Kind: kindFile, Name: "/etc/web.conf", File: file, Data: "000000"},
		{Step: "1.web.1", Kind: kindFile, Name: "/etc/web.conf", Left: true, File: file},
		{Step: "1.web.2", Kind: "unit", Name: "web.service", State: engine.State{"active": "yes"}, Secret: true},
		{Step: "1.web.3", Kind: "lost", Name: "/srv/data", Lost: "it has too much"},
	}
}

func goldenJournal() []engine.JournalEntry {
	at := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	return []engine.JournalEntry{
		{Time: at, Step: "1.web.1", Begun: true},
		{Time: at, Step: "1.web.1", Status: engine.StatusChanged, Tries: 1, Elapsed: time.Second},
	}
}

// stateIn copies a golden directory, since reading may change times.
func stateIn(t *testing.T, format string) *state {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", format))); err != nil {
		t.Fatal(err)
	}
	return openState(ServeOptions{StateDir: dir})
}

// TestFormats: the state directories of all formats are read, and mean the same.
func TestFormats(t *testing.T) {
	if *update {
		writeGoldenState(t, filepath.Join("testdata", "state-1"))
	}
	for _, format := range []string{"state-0", "state-1"} {
		s := stateIn(t, format)
		dir, err := s.runDir("r1")
		if err != nil {
			t.Fatal(err)
		}
		kept, err := readBackupLog(dir)
		if diff := cmp.Diff(goldenKept(), kept); diff != "" || err != nil {
			t.Errorf("%s: kept: %v %s", format, err, diff)
		}
		entries, err := s.entries("r1")
		if diff := cmp.Diff(goldenJournal(), entries); diff != "" || err != nil {
			t.Errorf("%s: journal: %v %s", format, err, diff)
		}
		owed, err := s.pendingHandlers()
		if diff := cmp.Diff([]string{"site//reload", "site/web/restart it"}, owed); diff != "" || err != nil {
			t.Errorf("%s: owed: %v %s", format, err, diff)
		}
		f, err := os.Open(filepath.Join(s.dir, "run.lock"))
		if err != nil {
			t.Fatal(err)
		}
		if h := readHolder(f); h.Run != "r1" || h.By != "ann@ci" || h.PID != 12 {
			t.Errorf("%s: holder %+v", format, h)
		}
		_ = f.Close()
		// A later run writes on in the same directory.
		if err := s.addPendingHandlers([]string{"another"}); err != nil {
			t.Error(err)
		}
		if owed, err := s.pendingHandlers(); err != nil || len(owed) != 3 {
			t.Errorf("%s: owed %q, %v", format, owed, err)
		}
		if _, err := s.changesOfRun("r1", false); err != nil {
			t.Error(err)
		}
	}
}

// TestWrittenFormat: what is written now is what the golden files of the present
// format have.
func TestWrittenFormat(t *testing.T) {
	dir := t.TempDir()
	writeGoldenState(t, dir)
	for _, name := range []string{"runs/r1/journal.jsonl", "runs/r1/kept.jsonl", "owed", "run.lock"} {
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
	s := openState(ServeOptions{StateDir: dir})
	j, err := s.journal("r1")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range goldenJournal() {
		if err := j.write(e, false); err != nil {
			t.Fatal(err)
		}
	}
	k, err := s.backupWriter("r1")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range goldenKept() {
		if err := k.write(line, false); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(k.dir, "kept"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(k.dir, "kept", "000000"), []byte("old\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.addPendingHandlers([]string{"site//reload", "site/web/restart it"}); err != nil {
		t.Fatal(err)
	}
	s.close()
	f, err := os.Create(filepath.Join(dir, "run.lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	holder := lock.Holder{Run: "r1", Verb: "run", By: "ann@ci", PID: 12, Since: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)}
	if err := writeHolder(f, holder); err != nil {
		t.Fatal(err)
	}
}

// TestNewerFormatsAreRefused: nothing of a newer deployer is skipped or written to.
func TestNewerFormatsAreRefused(t *testing.T) {
	const newer = `{"format":7,"handlers":{"new":"form"}}` + "\n"
	for _, name := range []string{"runs/r1/journal.jsonl", "runs/r1/kept.jsonl", "owed", "runs/r2/kept.jsonl"} {
		s := stateIn(t, "state-1")
		path := filepath.Join(s.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(newer), 0o600); err != nil {
			t.Fatal(err)
		}
		_, pastErr := s.changesOfRun("r1", false)
		_, owedErr := s.pendingHandlers()
		err := pastErr
		if name == "owed" {
			err = owedErr
			if err := s.addPendingHandlers([]string{"another"}); err == nil {
				t.Error("a handler is written into a file of a newer deployer")
			}
		}
		if err == nil || !strings.Contains(err.Error(), name+" has format 7, and this version of deployer knows formats up to 1") {
			t.Errorf("%s: %v", name, err)
		}
		if name == "runs/r1/journal.jsonl" {
			if _, err := s.journal("r1"); err == nil {
				t.Error("a journal of a newer deployer is written on")
			}
		}
		if got, _ := os.ReadFile(path); string(got) != newer {
			t.Errorf("%s was changed: %s", name, got)
		}
	}
	s := stateIn(t, "state-1")
	path := filepath.Join(s.dir, "run.lock")
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
