package undo

import (
	"os"
	"strings"
	"testing"

	"deployer/engine/agent/agenttest"
	"deployer/engine/agent/statedir"
)

// TestKeptLinesSurviveAPowerCut: a truncated line is ignored, and the line after it
// is complete.
func TestKeptLinesSurviveAPowerCut(t *testing.T) {
	s, root := testStore(t)
	dir := root + agenttest.StateDir + "/runs/r1"
	agenttest.WriteAged(t, dir+"/"+backupLogFile, `{"step":"a","kind":"file","name":"/x"}`+"\n"+`{"step":"b","ki`, 0o600, 0)
	k, err := s.backupWriter("r1")
	if err != nil {
		t.Fatal(err)
	}
	agenttest.WriteAged(t, root+"/y", "content", 0o640, 0)
	for _, name := range []string{"/x", "/y", "/y"} {
		if err := k.backUp(BackupRecord{Step: "a", Name: name}, root); err != nil {
			t.Fatal(err)
		}
	}
	s.Close()
	lines, err := readBackupLog(dir)
	if err != nil || len(lines) != 2 || lines[1].Name != "/y" || lines[1].File.Mode != 0o640 {
		t.Fatalf("%+v, %v", lines, err)
	}
	if got, err := os.ReadFile(dir + "/kept/" + lines[1].Data); string(got) != "content" {
		t.Errorf("%q, %v", got, err)
	}
	if info, err := os.Stat(dir + "/kept"); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("others may look into what is kept: %v, %v", info, err)
	}
}

// TestDamagedLinesAreReported: a damaged line of the backup log or of the journal is
// listed among what a revert cannot restore; a line that a crash has truncated, or
// that consists of zeros, is not.
func TestDamagedLinesAreReported(t *testing.T) {
	const whole = `{"step":"a","kind":"unit","name":"u"}`
	for line, want := range map[string]string{
		`{"step":"b","ki`: "", "\x00\x00\x00": "",
		`{"step":"b"x"kind":"file","name":"/x"}`:       "line 3 of the backup log",
		`{"step":"b","kin":"file","name":"/x"}`:        "line 3 of the backup log",
		`{"step":"b","kind":"file","name":{"/x":"y"}}`: "line 3 of the backup log",
	} {
		for _, file := range []string{backupLogFile, statedir.JournalFile} {
			s, root := testStore(t)
			dir := root + agenttest.StateDir + "/runs/r1/"
			head := `{"format":1}` + "\n"
			text, want := head+whole+"\n"+line+"\n"+whole+"\n", want
			if file == statedir.JournalFile {
				line = strings.Replace(line, `"step":"b","kin"`, `"stp":"b","kin"`, 1)
				line = strings.Replace(line, `"step":"b","kind"`, `"step":{},"kind"`, 1)
				text = head + strings.Replace(line, "file", "x", 1) + "\n"
				if want != "" {
					want = "journal of the run"
				}
			}
			agenttest.WriteAged(t, dir+file, text, 0o600, 0)
			past, err := s.changesOfRun("r1", false)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, c := range past.byRun {
				if c.before.Lost != "" {
					got += c.name
				}
			}
			if got != want {
				t.Errorf("%s with %q: lost %q, want %q", file, line, got, want)
			}
		}
	}
}
