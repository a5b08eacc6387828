package agent

import (
	"encoding/json"
	"os"
	"reflect"
	"testing"
	"time"

	"deployer/engine"
	"deployer/engine/agent/agenttest"
)

// TestJournalEntry: an entry is written as encoding/json would, and none of its
// fields is forgotten.
func TestJournalEntry(t *testing.T) {
	full := engine.JournalEntry{Time: time.Now(), Step: "2.web.3#1", Begun: true, Status: engine.StatusOK, Tries: 2, Elapsed: time.Second}
	for i, v := 0, reflect.ValueOf(full); i < v.NumField(); i++ {
		if v.Field(i).IsZero() {
			t.Errorf("%s is not tried", v.Type().Field(i).Name)
		}
	}
	for _, e := range []engine.JournalEntry{full, {}, {Time: full.Time.UTC(), Step: "\"1\"\n", Status: engine.StatusFailed}} {
		want, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		if got := appendEntry(nil, e); string(got) != string(want)+"\n" {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// program is a module that runs a program of the user's.
type program struct{ agenttest.Write }

func (*program) RunsPrograms() {}

// TestBegunIsOnTheDiskBeforeAProgramStarts: a journal that cannot be brought to
// the disk, as fsync of /dev/null fails, keeps a program from starting.
func TestBegunIsOnTheDiskBeforeAProgramStarts(t *testing.T) {
	t.Parallel()
	for module, wantRun := range map[string]bool{"program": false, "write": true} {
		root := t.TempDir()
		file, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if err := os.MkdirAll(root+DefaultStateDir+"/runs/r1", 0o700); err != nil {
			t.Fatal(err)
		}
		opts := ServeOptions{Root: root, StateDir: DefaultStateDir}
		registry := engine.NewRegistry([]engine.Kind{
			{Name: "program", New: func() any { return new(program) }}, {Name: "write", New: func() any { return new(agenttest.Write) }},
		})
		step := agenttest.Step(t, "1.a", module, agenttest.Write{Path: "/ran", Content: "yes"})
		r := &stepRun{server: &server{opts: opts, registry: registry, state: openState(opts)}, run: "r1", step: step, log: &journal{file: file}}
		_, err = r.checkAndApply(t.Context())
		_, missing := os.Stat(root + "/ran")
		if ran := missing == nil; ran != wantRun || (err == nil) != wantRun {
			t.Errorf("%s: ran %t, error %v; want it to run: %t", module, ran, err, wantRun)
		}
	}
}
