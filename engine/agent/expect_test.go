package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
	"deployer/engine/agent/agenttest"
)

// TestExpect: a step whose effects differ from the plan fails and does nothing; a
// step whose effects a check has shown succeeds.
func TestExpect(t *testing.T) {
	b := newTestHost(t, nil)
	wanted := agenttest.Step(t, "a", "write", agenttest.Write{Path: "/a", Content: "new \x1b[31mred"})
	var found []engine.Effect
	err := b.Run(t.Context(), engine.Segment{Run: "r1", Steps: []engine.Step{wanted}, CheckOnly: true}, func(r engine.Result) { found = r.Change.Effects })
	if err != nil || len(found) != 1 {
		t.Fatalf("%v, %v", found, err)
	}
	planned := &engine.Expect{Effects: []string{found[0].Fingerprint()}}

	drifted := filepath.Join(b.root, "a")
	if err := os.WriteFile(drifted, []byte("somebody was here"), 0o600); err != nil {
		t.Fatal(err)
	}
	wanted.Expect = planned
	r := b.run(t, wanted)[0]
	if r.Status != engine.StatusFailed || !strings.HasPrefix(r.Failure.Message, "differs from the plan: file /a: replace is not in it") || r.Change != nil {
		t.Errorf("%+v", r)
	}
	if data, err := os.ReadFile(drifted); string(data) != "somebody was here" {
		t.Errorf("it was changed: %q, %v", data, err)
	}
	entries, err := b.Journal(t.Context(), "r1")
	if err != nil || len(entries) != 1 || entries[0].Begun {
		t.Errorf("the journal says that it was begun: %+v, %v", entries, err)
	}
	wanted.Expect = &engine.Expect{Targets: []string{"file /a"}}
	if r := b.run(t, wanted)[0]; r.Status != engine.StatusChanged {
		t.Errorf("its target is in the plan: %+v", r)
	}
	if err := os.Remove(drifted); err != nil {
		t.Fatal(err)
	}
	wanted.Expect = planned
	if r := b.run(t, wanted)[0]; r.Status != engine.StatusChanged {
		t.Errorf("as planned: %+v", r)
	}
}

// TestCheckGoesOn: a check executes all its steps even when some fail, and takes into
// account what earlier steps would have changed.
func TestCheckGoesOn(t *testing.T) {
	b := newTestHost(t, nil)
	got := map[string]engine.Status{}
	err := b.Run(t.Context(), engine.Segment{Run: "r1", CheckOnly: true, Steps: []engine.Step{
		agenttest.Step(t, "before", "readsDryRun", readsDryRun{Path: "/etc/app"}),
		agenttest.Step(t, "fails", "odd", agenttest.Odd{Do: "fail-check", Text: "no"}),
		agenttest.Step(t, "a", "write", agenttest.Write{Path: "/etc/app/conf", Content: "x"}),
		agenttest.Step(t, "the file", "readsDryRun", readsDryRun{Path: "/etc/app/conf"}),
		agenttest.Step(t, "its directory", "readsDryRun", readsDryRun{Path: "/etc/app"}),
		agenttest.Step(t, "another", "readsDryRun", readsDryRun{Path: "/etc/ap"}),
	}}, func(r engine.Result) { got[r.Step] = r.Status })
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]engine.Status{"before": engine.StatusOK, "fails": engine.StatusFailed, "a": engine.StatusChanged,
		"the file": engine.StatusChanged, "its directory": engine.StatusChanged, "another": engine.StatusOK}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if r := b.run(t, agenttest.Step(t, "real", "readsDryRun", readsDryRun{Path: "/etc/app"}))[0]; r.Status != engine.StatusOK {
		t.Errorf("a real run foresees: %+v", r)
	}
}
