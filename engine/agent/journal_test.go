package agent

import (
	"encoding/json"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"deployer/engine"
	"deployer/engine/agent/agenttest"
)

// program is a module that counts as one that runs a program of the user.
type program struct{ agenttest.Write }

func (*program) RunsPrograms() {}

// TestBegunIsOnTheDiskBeforeAProgramStarts: no program starts when the journal cannot
// be synced to the disk; fsync of a null device fails.
func TestBegunIsOnTheDiskBeforeAProgramStarts(t *testing.T) {
	t.Parallel()
	for module, wantRun := range map[string]bool{"program": false, "write": true} {
		root := t.TempDir()
		dir := root + DefaultStateDir + "/runs/r1"
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := unix.Mknod(dir+"/journal.jsonl", unix.S_IFCHR|0o600, int(unix.Mkdev(1, 3))); err != nil {
			t.Fatalf("%v; this test makes a device file, run it as root", err)
		}
		registry := engine.NewRegistry([]engine.Kind{
			{Name: "program", New: func() any { return new(program) }}, {Name: "write", New: func() any { return new(agenttest.Write) }},
		})
		step := agenttest.Step(t, "1.a", module, agenttest.Write{Path: "/ran", Content: "yes"})
		s := &server{opts: ServeOptions{Root: root, StateDir: DefaultStateDir}, registry: registry}
		s.openState()
		log, err := s.state.Journal("r1")
		if err != nil {
			t.Fatal(err)
		}
		r := &stepRun{server: s, run: "r1", step: step, log: log}
		_, err = r.checkAndApply(t.Context())
		_, missing := os.Stat(root + "/ran")
		if ran := missing == nil; ran != wantRun || (err == nil) != wantRun {
			t.Errorf("%s: ran %t, error %v; want it to run: %t", module, ran, err, wantRun)
		}
	}
}

// TestNewestEntries: newest returns the last entries that fit into the limit.
func TestNewestEntries(t *testing.T) {
	entries := []json.RawMessage{json.RawMessage(`{"step":"a"}`), json.RawMessage(`{"step":"b"}`)}
	for limit, want := range map[int]int{0: 0, len(entries[1]) + 1: 1, 1 << 10: 2} {
		if got := newest(entries, limit); len(got) != want {
			t.Errorf("%d bytes: %d entries, want %d", limit, len(got), want)
		}
	}
}
