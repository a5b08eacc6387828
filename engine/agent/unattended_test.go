package agent

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"deployer/engine"
	"deployer/engine/agent/agenttest"
)

// TestUnattendedRestore: an agent that loses its controller inside of a rollout restores the
// host, unless the change has passed its gates, the controller has ended the session, or
// another session begins in time.
func TestUnattendedRestore(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		then func(t *testing.T, b *testHost)
		want string
	}{
		"lost": {func(_ *testing.T, b *testHost) { _ = b.line.Close() }, "old"},
		"passed": {func(t *testing.T, b *testHost) {
			b.run(t, recordStep(t, engine.RolloutRecord{Rollout: "roll", Passed: true}))
			_ = b.line.Close()
		}, "new"},
		"done": {func(t *testing.T, b *testHost) {
			b.run(t, recordStep(t, engine.RolloutRecord{Rollout: "roll", Done: true}))
			_ = b.line.Close()
		}, "new"},
		"ended":   {func(_ *testing.T, b *testHost) { _ = b.Close() }, "new"},
		"another": {func(t *testing.T, b *testHost) { _ = b.line.Close(); newBenchAt(t, b.root, nil) }, "new"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newTestHost(t, nil)
			file := filepath.Join(b.root, "file")
			if err := os.WriteFile(file, []byte("old"), 0o600); err != nil {
				t.Fatal(err)
			}
			revert := engine.Revert{Run: "r1", Task: "write", InRollout: true}
			restore := &engine.UnattendedRestore{After: 700 * time.Millisecond, Steps: []engine.Step{agenttest.Step(t, revert.ID(), engine.RevertModule, revert)}}
			b.run(t, recordStep(t, engine.RolloutRecord{Rollout: "roll"}),
				recordStep(t, engine.RolloutRecord{Rollout: "roll", IfLost: restore}),
				agenttest.Step(t, "write", "write", agenttest.Write{Path: "/file", Content: "new"}))
			test.then(t, b)
			<-b.served
			if got, err := os.ReadFile(file); err != nil || string(got) != test.want {
				t.Errorf("the file has %q, %v; want %q", got, err, test.want)
			}
		})
	}
}

func recordStep(t *testing.T, record engine.RolloutRecord) engine.Step {
	t.Helper()
	return agenttest.Step(t, record.ID(), engine.RolloutRecordModule, record)
}
