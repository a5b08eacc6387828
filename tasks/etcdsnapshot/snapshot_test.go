package etcdsnapshot

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"deployer/engine"
	"deployer/tasks/tasktest"

	"github.com/google/go-cmp/cmp"
)

// newHost returns an etcd host whose etcdctl writes a file and whose etcdutl prints status.
func newHost(t *testing.T, status string) *tasktest.System {
	t.Helper()
	sys := tasktest.New(t)
	sys.Write(t, "/var/lib/etcd/member/snap/db", "data", 0o600)
	sys.Mkdir(t, "/snapshots")
	sys.Exec = func(_ context.Context, cmd engine.Command) (engine.CommandResult, error) {
		switch {
		case strings.HasSuffix(cmd.Argv[0], "/etcdctl"):
			return engine.CommandResult{}, os.WriteFile(cmd.Argv[len(cmd.Argv)-1], []byte("snapshot"), 0o644)
		case status == "":
			return engine.CommandResult{Exit: 1, Stderr: "snapshot file integrity check failed"}, nil
		}
		return engine.CommandResult{Stdout: status}, nil
	}
	return sys
}

func snapshot(name string) *Snapshot {
	return &Snapshot{Dir: "/snapshots", Name: name, DataDir: "/var/lib/etcd", Endpoint: "https://10.0.0.1:2379", CA: "ca", Cert: "c", Key: "k", Keep: 3}
}

const goodStatus = `{"hash":1,"revision":12,"totalKey":7,"totalSize":4096,"version":"3.6.0"}`

// TestSnapshot checks the file, its mode, the output, and that the newest ones stay.
func TestSnapshot(t *testing.T) {
	sys := newHost(t, goodStatus)
	for i, name := range []string{"a", "b", "c"} {
		sys.Write(t, "/snapshots/"+name+".db", name, 0o600)
		when := time.Now().Add(time.Duration(i-10) * time.Hour)
		if err := os.Chtimes(sys.Path("/snapshots/"+name+".db"), when, when); err != nil {
			t.Fatal(err)
		}
	}
	sys.Write(t, "/snapshots/notes.txt", "x", 0o600)
	s := snapshot("run1")
	change, err := s.Check(t.Context(), sys)
	if err != nil || !change.Needed {
		t.Fatalf("%+v, %v", change, err)
	}
	out, err := s.Apply(t.Context(), sys, change)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(engine.Output{"path": "/snapshots/run1.db", "revision": int64(12), "keys": int64(7), "bytes": int64(8), "sha256": "16a0eeb0791b6c92451fd284dd9f599e0a7dbe7f6ebea6e2d2d06c7f74aec112"}, out); diff != "" {
		t.Error(diff)
	}
	if info, err := os.Stat(sys.Path("/snapshots/run1.db")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if got := names(t, sys); !slices.Equal(got, []string{"b.db", "c.db", "notes.txt", "run1.db"}) {
		t.Errorf("left: %v", got)
	}
	if change, err := s.Check(t.Context(), sys); err != nil || change.Needed || !cmp.Equal(change.Output, out) {
		t.Errorf("again, as after a lost connection: %+v, %v; want the output %v", change, err, out)
	}
}

// TestSnapshotsBeyondTheirSizeAreRemoved: the oldest snapshots are removed; the new
// one stays at any size.
func TestSnapshotsBeyondTheirSizeAreRemoved(t *testing.T) {
	sys := newHost(t, goodStatus)
	for i, name := range []string{"a", "b", "c"} {
		sys.Write(t, "/snapshots/"+name+".db", name, 0o600)
		if err := os.Truncate(sys.Path("/snapshots/"+name+".db"), 1<<20-8); err != nil {
			t.Fatal(err)
		}
		when := time.Now().Add(time.Duration(i-10) * time.Hour)
		if err := os.Chtimes(sys.Path("/snapshots/"+name+".db"), when, when); err != nil {
			t.Fatal(err)
		}
	}
	s := snapshot("run1")
	s.Keep, s.MaxMiB = 15, 2
	if _, err := s.Apply(t.Context(), sys, engine.Change{}); err != nil {
		t.Fatal(err)
	}
	if got := names(t, sys); !slices.Equal(got, []string{"b.db", "c.db", "run1.db"}) {
		t.Errorf("left: %v", got)
	}
}

// TestBrokenSnapshotsLeaveNothing checks that a snapshot which does not verify is an
// error and leaves no file.
func TestBrokenSnapshotsLeaveNothing(t *testing.T) {
	for _, status := range []string{"", "{}", "nonsense", `{"revision":0,"totalKey":7}`} {
		sys := newHost(t, status)
		if _, err := snapshot("run1").Apply(t.Context(), sys, engine.Change{}); err == nil || !strings.Contains(err.Error(), "verifying the snapshot") {
			t.Errorf("%q: %v", status, err)
		}
		if got := names(t, sys); len(got) > 0 {
			t.Errorf("%q: left %v", status, got)
		}
	}
	sys := newHost(t, goodStatus)
	for name, want := range map[string]string{"../etc/x": "not the name of a file", ".hidden": "not the name"} {
		if _, err := snapshot(name).Check(t.Context(), sys); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", name, err)
		}
	}
	if err := os.Truncate(sys.Path("/var/lib/etcd/member/snap/db"), 1<<43); err != nil {
		t.Fatal(err)
	}
	if _, err := snapshot("run1").Check(t.Context(), sys); err == nil || !strings.Contains(err.Error(), "make room there") {
		t.Errorf("without space: %v", err)
	}
}

func names(t *testing.T, sys *tasktest.System) []string {
	t.Helper()
	entries, err := os.ReadDir(sys.Path("/snapshots"))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

// TestDirectoryStays checks that the directory of snapshots is made for root only, and
// without a backup: a revert must not count it as something that it failed to remove.
func TestDirectoryStays(t *testing.T) {
	sys := newHost(t, goodStatus)
	s := snapshot("run1")
	s.Dir = "/var/lib/deployer/etcd-snapshots"
	change, err := s.Check(t.Context(), sys)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Apply(t.Context(), sys, change); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(sys.Path(s.Dir))
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
	if backups := sys.Kept(); len(backups) > 0 {
		t.Errorf("backed up: %v", backups)
	}
}

// TestExistingSnapshotsAreVerified: an existing snapshot that is damaged is an error,
// because its revision is unknown.
func TestExistingSnapshotsAreVerified(t *testing.T) {
	sys := newHost(t, "")
	sys.Write(t, "/snapshots/run1.db", "torn", 0o600)
	if _, err := snapshot("run1").Check(t.Context(), sys); err == nil || !strings.Contains(err.Error(), "integrity check failed") || !strings.Contains(err.Error(), "remove it") {
		t.Errorf("a damaged file: %v", err)
	}
	if err := os.Symlink("/etc/passwd", sys.Path("/snapshots/run2.db")); err != nil {
		t.Fatal(err)
	}
	if _, err := snapshot("run2").Check(t.Context(), sys); err == nil || !strings.Contains(err.Error(), "no regular file") {
		t.Errorf("a link: %v", err)
	}
}

// TestPartialSnapshotsAreRemoved: the temporary file of etcdctl is removed after a
// failure, and those of killed runs are removed by the next run; the files of a
// timer, of a run in progress, and other files stay.
func TestPartialSnapshotsAreRemoved(t *testing.T) {
	sys := newHost(t, goodStatus)
	save := sys.Exec
	sys.Exec = func(ctx context.Context, cmd engine.Command) (engine.CommandResult, error) {
		if strings.HasSuffix(cmd.Argv[0], "/etcdctl") { // ends while it writes
			return engine.CommandResult{Exit: 1, Stderr: "no space left on device"}, os.WriteFile(cmd.Argv[len(cmd.Argv)-1]+".part", []byte("snap"), 0o600)
		}
		return save(ctx, cmd)
	}
	if _, err := snapshot("run1").Apply(t.Context(), sys, engine.Change{}); err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Fatalf("a full disk: %v", err)
	}
	if got := names(t, sys); len(got) > 0 {
		t.Errorf("after a failure: %v", got)
	}
	old := time.Now().Add(-2 * abandonedAfter)
	for _, name := range []string{".killed.part", ".killed.part.part", ".scheduled-1.part", "notes.part", ".running.part.part"} {
		sys.Write(t, "/snapshots/"+name, "x", 0o600)
		if name == ".running.part.part" {
			continue
		}
		if err := os.Chtimes(sys.Path("/snapshots/"+name), old, old); err != nil {
			t.Fatal(err)
		}
	}
	sys.Write(t, "/outside", "x", 0o600)
	if err := os.Symlink(sys.Path("/outside"), sys.Path("/snapshots/.link.part")); err != nil {
		t.Fatal(err)
	}
	sys.Exec = save
	if _, err := snapshot("run1").Apply(t.Context(), sys, engine.Change{}); err != nil {
		t.Fatal(err)
	}
	if got := names(t, sys); !slices.Equal(got, []string{".link.part", ".running.part.part", ".scheduled-1.part", "notes.part", "run1.db"}) {
		t.Errorf("left: %v", got)
	}
}

// TestDirectoriesOfOtherUsers: a directory that another user can write to is refused,
// because that user could replace the file that root writes by a link.
func TestDirectoriesOfOtherUsers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give directories away")
	}
	const user = 65534
	for name, tt := range map[string]struct {
		dir     string
		prepare func(t *testing.T, sys *tasktest.System) error
		wrong   string
	}{
		"its own directory":        {"/snapshots", func(_ *testing.T, sys *tasktest.System) error { return os.Chown(sys.Path("/snapshots"), user, user) }, "other users than root can write to /snapshots"},
		"a directory for everyone": {"/snapshots", func(_ *testing.T, sys *tasktest.System) error { return os.Chmod(sys.Path("/snapshots"), 0o777) }, "other users than root can write to /snapshots"},
		"a parent": {"/home/bob/snapshots", func(t *testing.T, sys *tasktest.System) error {
			sys.Mkdir(t, "/home/bob")
			return os.Chown(sys.Path("/home/bob"), user, user)
		}, "other users than root can write to /home/bob"},
		"a link to a directory of root": {"/home/bob/snapshots", func(t *testing.T, sys *tasktest.System) error {
			sys.Mkdir(t, "/home/bob")
			if err := os.Symlink("/snapshots", sys.Path("/home/bob/snapshots")); err != nil {
				return err
			}
			if err := os.Lchown(sys.Path("/home/bob/snapshots"), user, user); err != nil {
				return err
			}
			return os.Chown(sys.Path("/home/bob"), user, user)
		}, "/home/bob/snapshots"},
		"a link of root": {"/link", func(_ *testing.T, sys *tasktest.System) error { return os.Symlink("/snapshots", sys.Path("/link")) }, ""},
	} {
		sys := newHost(t, goodStatus)
		if err := tt.prepare(t, sys); err != nil {
			t.Fatal(err)
		}
		s := snapshot("run1")
		s.Dir = tt.dir
		_, err := s.Apply(t.Context(), sys, engine.Change{})
		if (err == nil) != (tt.wrong == "") || err != nil && !strings.Contains(err.Error(), tt.wrong) {
			t.Errorf("%s: %v, want %q", name, err, tt.wrong)
		}
		if got := names(t, sys); err != nil && len(got) > 0 {
			t.Errorf("%s: root has written %v", name, got)
		}
	}
}

// TestDatabaseBehindALink: root does not follow a link of another user in the place
// of the database.
func TestDatabaseBehindALink(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give links away")
	}
	sys := newHost(t, goodStatus)
	db := sys.Path("/var/lib/etcd/member/snap/db")
	sys.Write(t, "/etc/shadow", "root", 0o600)
	if err := os.Remove(db); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/shadow", db); err != nil {
		t.Fatal(err)
	}
	if err := os.Lchown(db, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	if _, err := snapshot("run1").Check(t.Context(), sys); err == nil || !strings.Contains(err.Error(), "reading the size of etcd's database") {
		t.Errorf("%v", err)
	}
}
