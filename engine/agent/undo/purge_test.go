package undo

import (
	"os"
	"path/filepath"
	"testing"

	"deployer/engine"
	"deployer/engine/agent/agenttest"
)

// TestPurgeOfTheRunInProgress: on a host that leaves the cluster, the backups of the
// present run are removed too, those of secrets or all, and later changes of the run
// have backups.
func TestPurgeOfTheRunInProgress(t *testing.T) {
	for _, all := range []bool{false, true} {
		s, root := testStore(t)
		defer s.Close()
		for name, content := range map[string]string{"key": "old key", "open": "old file", "later": "later"} {
			agenttest.WriteAged(t, filepath.Join(root, name), content, 0o644, 0)
		}
		backUp := func(run, path string) {
			t.Helper()
			step := Step{Run: run, ID: path, Secret: path == "/key"}
			if err := s.Backup(step, path); err != nil {
				t.Fatal(err)
			}
			if err := s.RecordAfter(t.Context(), step, nil); err != nil {
				t.Fatal(err)
			}
		}
		for _, run := range []string{"r1", "r2"} {
			if _, err := s.dir.Journal(run); err != nil {
				t.Fatal(err)
			}
			backUp(run, "/key")
			backUp(run, "/open")
		}
		m := s.PurgeEverythingModule(all)
		if change, err := m.Check(t.Context(), nil); err != nil || !change.Needed {
			t.Fatalf("check: %+v, %v", change, err)
		}
		if _, err := m.Apply(t.Context(), nil, engine.Change{}); err != nil {
			t.Fatal(err)
		}
		if change, err := m.Check(t.Context(), nil); err != nil || change.Needed {
			t.Errorf("all: %t: after it: %+v, %v", all, change, err)
		}
		backUp("r2", "/later")
		for run, want := range map[string]int{"r1": 0, "r2": 1} {
			kept := map[string]bool{}
			lines, err := readBackupLog(filepath.Join(s.dir.Path, "runs", run))
			if err != nil {
				t.Fatal(err)
			}
			for _, l := range lines {
				if l.Data != "" {
					content, err := os.ReadFile(filepath.Join(s.dir.Path, "runs", run, "kept", l.Data))
					if err != nil {
						t.Error(err)
					}
					kept[string(content)] = true
				}
			}
			if !all {
				want++ // the open file
			}
			if len(kept) != want || kept["old key"] || kept["old file"] == all || kept["later"] != (run == "r2") {
				t.Errorf("all: %t: %s has the contents %v", all, run, kept)
			}
		}
		s.dir.Close()
	}
}
