package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"deployer/engine"
	"deployer/engine/agent/agenttest"
)

// TestRevertStaysOnItsWay: between a run and its revert, a user replaces the
// directory by a link. The revert does not write where the link leads.
func TestRevertStaysOnItsWay(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	for _, dir := range []string{"/open/conf", "/etc"} {
		if err := os.MkdirAll(h.root+dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	agenttest.WriteAged(t, h.root+"/open/conf/x", "old", 0o600, 0)
	agenttest.WriteAged(t, h.root+"/etc/x", "root's", 0o600, 0)
	h.does("r1", "write", "/open/conf/x", "new")
	moveAside(t, h.root, "/open/conf", "../etc")
	r := h.reverts("r2", engine.Revert{Run: "r1", Task: "1.play.1", Force: true})
	if r.Failure == nil || !strings.Contains(r.Failure.Message, "/open/conf is a symbolic link") {
		t.Errorf("%+v, want a failure that names the link", r.Failure)
	}
	if data, err := os.ReadFile(h.root + "/etc/x"); err != nil || string(data) != "root's" {
		t.Errorf("%q, %v", data, err)
	}
	if r := h.in("r3", agenttest.Step(t, "1.play.9", "alter", alter{Op: "write", Path: "/open/conf/x", Content: "newest"}), false); r.Failure == nil {
		t.Error("what a user's link leads to was kept")
	}
}

// moveAside replaces a directory by a link, as a user with write access to its parent
// could.
func moveAside(t *testing.T, root, dir, target string) {
	t.Helper()
	if err := os.Rename(root+dir, root+dir+".aside"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, root+dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(root+filepath.Dir(dir), 0o777); err != nil {
		t.Fatal(err)
	}
}
