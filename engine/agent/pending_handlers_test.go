package agent

import (
	"os"
	"path/filepath"
	"testing"

	"deployer/engine"
	"deployer/engine/agent/agenttest"
)

// TestFailedHandlersStayPending: only a handler that succeeded is removed; a handler
// that failed, or that was only checked, stays pending.
func TestFailedHandlersStayPending(t *testing.T) {
	h := newHistory(t)
	owed := func(want string) {
		t.Helper()
		got, err := os.ReadFile(filepath.Join(h.root, DefaultStateDir, "owed"))
		if string(got) != want || err != nil && want != "" {
			t.Errorf("owed is %q, %v; want %q", got, err, want)
		}
	}
	change := agenttest.Step(t, "1.play.1", "alter", alter{Op: "write", Path: "/conf", Content: "new"})
	change.Notifies = []string{"site//reload"}
	handler := func(op string) engine.Step {
		s := agenttest.Step(t, "1.play.handler1", "alter", alter{Op: op, Path: "/reloaded", Content: "x"})
		s.Handles = "site//reload"
		return s
	}
	h.in("r1", change, true)
	owed("")
	h.in("r1", change, false)
	owed(`{"format":1,"handlers":["site//reload"]}` + "\n")
	if r := h.in("r1", handler("impossible"), false); r.Status != engine.StatusFailed {
		t.Errorf("the handler is %s", r.Status)
	}
	h.in("r1", handler("write"), true)
	owed(`{"format":1,"handlers":["site//reload"]}` + "\n")
	h.in("r1", handler("write"), false)
	owed("")
}
