package file

import (
	"io/fs"
	"os"
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"deployer/engine"
	"deployer/tasks/tasktest"
)

// asUser calls f repeatedly as an unprivileged user until stop is closed, on a thread
// that ends afterwards. ready is closed after the first call.
func asUser(t *testing.T, uid int, stop <-chan struct{}, f func() error) {
	t.Helper()
	ready, failed := make(chan struct{}), make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked
		id := uintptr(uid)
		for _, call := range [][4]uintptr{{syscall.SYS_SETGROUPS, 0, 0, 0}, {syscall.SYS_SETRESGID, id, id, id}, {syscall.SYS_SETRESUID, id, id, id}} {
			if _, _, errno := syscall.RawSyscall(call[0], call[1], call[2], call[3]); errno != 0 {
				failed <- errno
				return
			}
		}
		if err := f(); err != nil {
			failed <- err
			return
		}
		close(ready)
		for {
			select {
			case <-stop:
				return
			default:
				_ = f()
			}
		}
	}()
	select {
	case <-ready:
	case err := <-failed:
		t.Fatalf("acting as user %d: %v; this test runs as root", uid, err)
	}
}

// TestUserCannotRedirectAccess: a user who owns the directory replaces the file that
// root works on by a link to a file of root, as fast as possible. Mode and owner of the
// file of root do not change.
func TestUserCannotRedirectAccess(t *testing.T) {
	t.Parallel()
	no := false
	for name, tt := range map[string]struct {
		victim string
		make   func(t *testing.T, sys *tasktest.System) // creates x in bob's directory
		module func(round int) engine.Module
	}{
		"file": {"/etc/victim", func(t *testing.T, sys *tasktest.System) { sys.Write(t, "/home/bob/x", "x", 0o600) }, func(round int) engine.Module {
			return &File{Path: "/home/bob/x", Mode: []string{"0666", "0600"}[round%2], Owner: "65534", Force: &no}
		}},
		"directory": {"/etc/victim.d", func(t *testing.T, sys *tasktest.System) { sys.Mkdir(t, "/home/bob/x") }, func(round int) engine.Module {
			return &Directory{Path: "/home/bob/x", Mode: []string{"0777", "0700"}[round%2], Owner: "65534"}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sys := tasktest.New(t)
			sys.Write(t, "/etc/victim", "root's", 0o640)
			sys.Mkdir(t, "/etc/victim.d")
			sys.Mkdir(t, "/home/bob")
			tt.make(t, sys)
			for _, path := range []string{"/home/bob", "/home/bob/x"} {
				if err := os.Chown(sys.Path(path), bob, bob); err != nil {
					t.Fatalf("%v; this test runs as root", err)
				}
			}
			if err := os.Symlink("../.."+tt.victim, sys.Path("/home/bob/link")); err != nil {
				t.Fatal(err)
			}
			if err := os.Lchown(sys.Path("/home/bob/link"), bob, bob); err != nil {
				t.Fatal(err)
			}
			home, err := os.Open(sys.Path("/home/bob"))
			if err != nil {
				t.Fatal(err)
			}
			defer home.Close()
			stop := make(chan struct{})
			defer close(stop)
			at := int(home.Fd())
			asUser(t, bob, stop, func() error { return unix.Renameat2(at, "x", at, "link", unix.RENAME_EXCHANGE) })
			for round := range 3000 {
				m := tt.module(round)
				change, err := m.Check(t.Context(), sys)
				if err == nil && change.Needed {
					_, _ = m.Apply(t.Context(), sys, change) // a refusal is expected
				}
			}
			info, err := os.Lstat(sys.Path(tt.victim))
			if err != nil {
				t.Fatal(err)
			}
			want := map[bool]fs.FileMode{true: 0o755, false: 0o640}[info.IsDir()]
			if stat := info.Sys().(*syscall.Stat_t); info.Mode().Perm() != want || stat.Uid == bob {
				t.Errorf("root's %s has become %v of user %d", tt.victim, info.Mode(), stat.Uid)
			}
		})
	}
}
