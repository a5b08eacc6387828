package file

import (
	"io/fs"
	"os"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"deployer/tasks/tasktest"
)

// bob is a user of the host who owns a directory that root works in.
const bob = 65534

// TestDirectoryExchangedForAProgram: a user who owns the parent exchanges the directory that root
// creates for a program, as fast as possible. The program never gets the setgid bit and never
// becomes root's.
func TestDirectoryExchangedForAProgram(t *testing.T) {
	t.Parallel()
	sys := tasktest.New(t)
	sys.Write(t, "/home/bob/program", "bob's", 0o755)
	for _, path := range []string{"/home/bob", "/home/bob/program"} {
		if err := os.Chown(sys.Path(path), bob, bob); err != nil {
			t.Fatalf("%v; this test runs as root", err)
		}
	}
	home, err := os.Open(sys.Path("/home/bob"))
	if err != nil {
		t.Fatal(err)
	}
	defer home.Close()
	stop := make(chan struct{})
	defer close(stop)
	at := int(home.Fd())
	asUser(t, bob, stop, func() error {
		_ = unix.Renameat2(at, "shared", at, "program", unix.RENAME_EXCHANGE)
		_ = unix.Unlinkat(at, "shared", unix.AT_REMOVEDIR)
		return nil
	})
	for range 3000 {
		m := &Directory{Path: "/home/bob/shared", Mode: "2775", Owner: "0"}
		if change, err := m.Check(t.Context(), sys); err == nil && change.Needed {
			_, _ = m.Apply(t.Context(), sys, change) // a refusal is expected
		}
		for _, name := range []string{"shared", "program"} {
			var stat unix.Stat_t
			if unix.Fstatat(at, name, &stat, unix.AT_SYMLINK_NOFOLLOW) != nil || stat.Mode&unix.S_IFMT != unix.S_IFREG {
				continue
			}
			if stat.Mode&0o7777 != 0o755 || stat.Uid != bob {
				t.Fatalf("bob's program has the mode %o and the owner %d", stat.Mode, stat.Uid)
			}
		}
	}
}

// TestFileOfAUserIsWrittenAnew: a user holds a file open that has the wanted content, and that
// becomes root's. What the user writes later does not reach the file of root.
func TestFileOfAUserIsWrittenAnew(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		module File
		anew   bool
	}{
		"another owner":    {File{Content: new("good"), Owner: "0"}, true},
		"setuid":           {File{Content: new("good"), Mode: "4755"}, true},
		"another mode":     {File{Content: new("good"), Mode: "0600"}, false},
		"unmanaged":        {File{Owner: "0"}, false},
		"content may stay": {File{Content: new("other"), Force: new(bool), Mode: "0600"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sys := tasktest.New(t)
			sys.Write(t, "/srv/x", "good", 0o755)
			if err := os.Chown(sys.Path("/srv/x"), bob, bob); err != nil {
				t.Fatalf("%v; this test runs as root", err)
			}
			held, err := os.OpenFile(sys.Path("/srv/x"), os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer held.Close()
			m := c.module
			m.Path = "/srv/x"
			change, err := m.Check(t.Context(), sys)
			if err != nil || !change.Needed {
				t.Fatalf("%v, %v", change, err)
			}
			if _, err := m.Apply(t.Context(), sys, change); err != nil {
				t.Fatal(err)
			}
			if _, err := held.WriteAt([]byte("evil"), 0); err != nil {
				t.Fatal(err)
			}
			if got := sys.Read(t, "/srv/x"); (got == "good") != c.anew {
				t.Errorf("the file has %q; want it written anew: %t", got, c.anew)
			}
			info, err := os.Stat(sys.Path("/srv/x"))
			if err != nil {
				t.Fatal(err)
			}
			if m.Owner == "0" && info.Sys().(*syscall.Stat_t).Uid != 0 || m.Mode == "4755" && info.Mode()&fs.ModeSetuid == 0 || m.Mode == "0600" && info.Mode() != 0o600 {
				t.Errorf("it has %v of %d", info.Mode(), info.Sys().(*syscall.Stat_t).Uid)
			}
		})
	}
}
