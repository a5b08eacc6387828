package agent

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"deployer/engine"
	"deployer/engine/agent/agenttest"
)

// smallDisk mounts a file system of mib MiB as the agent's state directory and
// returns the directory.
func smallDisk(t *testing.T, root, mib string) string {
	t.Helper()
	dir := root + DefaultStateDir
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size="+mib+"m"); err != nil {
		t.Fatalf("%v; this test mounts a file system, run it as root", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	return dir
}

func free(t *testing.T, dir string) int64 {
	t.Helper()
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		t.Fatal(err)
	}
	return int64(st.Bavail) * st.Bsize
}

// TestKeepingLeavesRoom: old files are backed up while space remains free for other
// uses. A file without a backup is replaced all the same, and plan, result and revert
// report it as irreversible.
func TestKeepingLeavesRoom(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	dir := smallDisk(t, root, "16")
	h := &history{testHost: newBenchAt(t, root, nil), t: t}
	write := func(step, path string, check bool) engine.Result {
		return h.in("r1", agenttest.Step(t, step, "alter", alter{Op: "write", Path: path, Content: "new"}), check)
	}
	for _, name := range []string{"/a", "/b"} {
		agenttest.WriteAged(t, root+name, strings.Repeat("x", 9<<20), 0o644, 0)
	}
	if r := write("1.a", "/a", false); r.Failure != nil || strings.Contains(r.Change.Effects[0].Action, "restored") {
		t.Fatalf("%v, %+v", r.Failure, r.Change)
	}
	const want = "write (cannot be restored: a copy of it would fill the disk)"
	for _, check := range []bool{true, false} {
		if r := write("1.b", "/b", check); r.Failure != nil || r.Change.Effects[0].Action != want {
			t.Errorf("check %t: %v, %+v; want %q", check, r.Failure, r.Change, want)
		}
	}
	if left := free(t, dir); left < 2<<20 {
		t.Errorf("%d bytes are free", left)
	}
	if data, err := os.ReadFile(root + "/b"); err != nil || string(data) != "new" {
		t.Errorf("%.10q, %v", data, err)
	}
	for _, item := range h.looks("r1").Items {
		if wanted := map[string]engine.RevertState{"/a": engine.RevertRestore, "/b": engine.RevertLost}[item.Name]; item.State != wanted {
			t.Errorf("%s: %s (%s), want %s", item.Name, item.State, item.Reason, wanted)
		}
	}
}

// TestFullDiskKeepsNoPartialCopy: when the disk has no room even for a small file,
// nothing is changed, and the partial copy is removed.
func TestFullDiskKeepsNoPartialCopy(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	dir := smallDisk(t, root, "4")
	h := &history{testHost: newBenchAt(t, root, nil), t: t}
	h.does("r1", "write", "/other", "x") // makes the files of the run
	agenttest.WriteAged(t, root+"/x", strings.Repeat("x", 900<<10), 0o644, 0)
	fill, err := os.Create(dir + "/fill")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = fill.Write(bytes.Repeat([]byte("x"), int(free(t, dir)-(256<<10))))
	fill.Close()
	before := free(t, dir)
	r := h.in("r1", agenttest.Step(t, "1.x", "alter", alter{Op: "write", Path: "/x", Content: "new"}), false)
	if r.Failure == nil || !strings.Contains(r.Failure.Message, "no space left on device: free some space there") {
		t.Errorf("%+v, want a failure that says what to do", r.Failure)
	}
	if info, err := os.Stat(root + "/x"); err != nil || info.Size() != 900<<10 {
		t.Errorf("%v, %v; want the file as it was", info, err)
	}
	copies, err := filepath.Glob(dir + "/runs/r1/kept/*")
	if err != nil || len(copies) > 1 || before-free(t, dir) > 64<<10 {
		t.Errorf("%v stay, and %d of %d bytes are free", copies, free(t, dir), before)
	}
}
