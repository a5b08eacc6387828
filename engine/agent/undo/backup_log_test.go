package undo

import (
	"os"
	"testing"

	"deployer/engine/agent/agenttest"
)

// TestKeptLinesSurviveAPowerCut: a line that was cut short is as if it had never
// been, and the next one is whole.
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
