package agent

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
	"deployer/engine/agent/agenttest"
)

// TestOwed goes through what a host remembers, each time from the disk as a new
// agent would.
func TestOwed(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "state"), 0o700); err != nil {
		t.Fatal(err)
	}
	host := func() *state { return openState(ServeOptions{Root: root, StateDir: "/state"}) }
	for _, step := range []struct {
		do   func(*state) error
		want []string
	}{
		{func(s *state) error { return s.removePendingHandler("site//reload") }, nil},
		{func(s *state) error { return s.addPendingHandlers(nil) }, nil},
		{func(s *state) error { return s.addPendingHandlers([]string{"site//reload", "site/web/restart it"}) }, []string{"site//reload", "site/web/restart it"}},
		{func(s *state) error { return s.addPendingHandlers([]string{"site//reload"}) }, []string{"site//reload", "site/web/restart it"}},
		{func(s *state) error { return s.addPendingHandlers([]string{"broken\nname"}) }, []string{"site//reload", "site/web/restart it"}},
		{func(s *state) error { return s.removePendingHandler("site//reload") }, []string{"site/web/restart it"}},
		{func(s *state) error { return s.removePendingHandler("another") }, []string{"site/web/restart it"}},
		{func(s *state) error { return s.removePendingHandler("site/web/restart it") }, nil},
	} {
		if err := step.do(host()); err != nil {
			t.Fatal(err)
		}
		got, err := host().pendingHandlers()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(step.want, got); diff != "" {
			t.Fatal(diff)
		}
	}
}

// TestFailedHandlersStayOwed: only a handler that came to a good end is struck
// out; one that failed, or whose change was only looked at, is not.
func TestFailedHandlersStayOwed(t *testing.T) {
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
