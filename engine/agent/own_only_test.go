package agent

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"deployer/engine/agent/agenttest"
	"deployer/engine/lock"
)

// TestStateIsForTheOwnerOnly: existing directories and files of the state directory
// lose the permissions of group and others before anything is written into them.
func TestStateIsForTheOwnerOnly(t *testing.T) {
	root := t.TempDir()
	state := filepath.Join(root, DefaultStateDir)
	run := filepath.Join(state, "runs", "r1")
	if err := os.MkdirAll(run, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(run, "journal.jsonl"), filepath.Join(run, "kept.jsonl"), filepath.Join(state, "lock"), filepath.Join(state, "run.lock"), filepath.Join(state, "owed")} {
		content := ""
		if filepath.Base(path) == "owed" {
			content = "site//other\n"
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b := newBenchAt(t, root, nil)
	if err := b.Lock(t.Context(), lock.Holder{Run: "r1", By: "ann@ci"}); err != nil {
		t.Fatal(err)
	}
	first := agenttest.Step(t, "a", "write", agenttest.Write{Path: "/f", Content: "one"})
	first.Notifies = []string{"site//reload"}
	want(t, b.run(t, first,
		agenttest.Step(t, "b", "write", agenttest.Write{Path: "/f", Content: "two"})), "a=changed b=changed")
	files := 0
	err := filepath.WalkDir(state, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has the mode %v", path, info.Mode())
		}
		files++
		return err
	})
	if err != nil || files < 7 {
		t.Errorf("%d files, %v", files, err)
	}
}
