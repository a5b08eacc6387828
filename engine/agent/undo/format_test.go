package undo

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
	"deployer/engine/agent/agenttest"
	"deployer/engine/agent/statedir"
)

var update = flag.Bool("update", false, "write the golden files of the present format; those of older ones are never written again")

// goldenKept returns the backup log of each directory state-N of testdata, in its
// format.
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

// storeIn copies a golden directory, since reading may change times.
func storeIn(t *testing.T, format string) *Store {
	t.Helper()
	return Open(statedir.Open(agenttest.CopyDir(t, filepath.Join("testdata", format))), engine.Registry{}, "/")
}

// TestFormats: the backup logs of all formats are readable and have the same content.
func TestFormats(t *testing.T) {
	if *update {
		writeGoldenLog(t, filepath.Join("testdata", "state-1"))
	}
	for _, format := range []string{"state-0", "state-1"} {
		s := storeIn(t, format)
		dir, err := s.dir.RunDir("r1")
		if err != nil {
			t.Fatal(err)
		}
		kept, err := readBackupLog(dir)
		if diff := cmp.Diff(goldenKept(), kept); diff != "" || err != nil {
			t.Errorf("%s: %v %s", format, err, diff)
		}
		if _, err := s.changesOfRun("r1", false); err != nil {
			t.Error(err)
		}
	}
}

// TestWrittenFormat: the present writer produces the golden file of the present format.
func TestWrittenFormat(t *testing.T) {
	dir := t.TempDir()
	writeGoldenLog(t, dir)
	const name = "runs/r1/kept.jsonl"
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

func writeGoldenLog(t *testing.T, dir string) {
	t.Helper()
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "runs", "r1", "kept"), 0o700); err != nil {
		t.Fatal(err)
	}
	s := Open(statedir.Open(dir), engine.Registry{}, "/")
	defer s.Close()
	k, err := s.backupWriter("r1")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range goldenKept() {
		if err := k.write(line, false); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(k.dir, "kept", "000000"), []byte("old\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestNewerFormatsAreRefused: while any run has a file of a newer deployer, a revert
// reads nothing, and no step is backed up into such a file.
func TestNewerFormatsAreRefused(t *testing.T) {
	const newer = `{"format":7,"handlers":{"new":"form"}}` + "\n"
	for _, name := range []string{"runs/r1/journal.jsonl", "runs/r1/kept.jsonl", "runs/r2/kept.jsonl"} {
		s := storeIn(t, "state-1")
		path := filepath.Join(s.dir.Path, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(newer), 0o600); err != nil {
			t.Fatal(err)
		}
		want := name + " has format 7, and this version of deployer knows formats up to 1"
		if _, err := s.changesOfRun("r1", false); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
		if name == "runs/r1/kept.jsonl" {
			if err := s.Backup(Step{Run: "r1", ID: "1.web.9"}, "/etc/hostname"); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("a backup log of a newer deployer is written on: %v", err)
			}
		}
		if got, _ := os.ReadFile(path); string(got) != newer {
			t.Errorf("%s was changed: %s", name, got)
		}
	}
}
