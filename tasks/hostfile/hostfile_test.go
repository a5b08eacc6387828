package hostfile

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"github.com/aymanbagabas/go-udiff"
	"golang.org/x/sys/unix"

	"deployer/tasks/tasktest"
)

func TestModes(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"0644", "0600", "1777", "2755", "4755", "0000"} {
		mode, err := ParseMode(s)
		if err != nil || FormatMode(mode) != s {
			t.Errorf("%s: %s, %v", s, FormatMode(mode), err)
		}
	}
	for _, s := range []string{"", "rwx", "0888", "10000", "-1"} {
		if _, err := ParseMode(s); err == nil {
			t.Errorf("%q is taken for a mode", s)
		}
	}
}

func TestWriteKeepsTheModeOfTheReplacedFile(t *testing.T) {
	t.Parallel()
	sys := tasktest.New(t)
	sys.Write(t, "/etc/x", "old", 0o640)
	if err := Write(sys, "/etc/x", strings.NewReader("new"), Access{}); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(sys.Path("/etc/x"))
	if err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v, %v; want 0640", info.Mode(), err)
	}
	if got := sys.Read(t, "/etc/x"); got != "new" {
		t.Errorf("content %q", got)
	}
}

func TestWriteKeepsAttributes(t *testing.T) {
	t.Parallel()
	sys := tasktest.New(t)
	sys.Write(t, "/etc/x", "old", 0o644)
	if err := unix.Setxattr(sys.Path("/etc/x"), "user.note", []byte("stays"), 0); err != nil {
		t.Fatalf("the file system of %s has no extended attributes: %v", sys.Root, err)
	}
	if err := Write(sys, "/etc/x", strings.NewReader("new"), Access{Mode: "0600"}); err != nil {
		t.Fatal(err)
	}
	got, err := attribute(func(buf []byte) (int, error) { return unix.Lgetxattr(sys.Path("/etc/x"), "user.note", buf) })
	if err != nil || string(got) != "stays" {
		t.Errorf("attribute %q, %v", got, err)
	}
}

func TestBackup(t *testing.T) {
	t.Parallel()
	sys := tasktest.New(t)
	if to, err := Backup(sys, "/etc/x"); err != nil || to != "" {
		t.Errorf("backup of nothing: %q, %v", to, err)
	}
	sys.Write(t, "/etc/x", "old", 0o640)
	for range 2 { // the second try of a step finds the first one's copy
		to, err := Backup(sys, "/etc/x")
		if err != nil || to != "/etc/x.test~" {
			t.Fatalf("%q, %v", to, err)
		}
		if err := Write(sys, "/etc/x", strings.NewReader("new"), Access{}); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(sys.Path("/etc/x.test~"))
	if err != nil || info.Mode().Perm() != 0o640 || sys.Read(t, "/etc/x.test~") != "old" {
		t.Errorf("%v, %v, %q", info, err, sys.Read(t, "/etc/x.test~"))
	}
}

// TestLinkIsReplacedNotFollowed: a write replaces a link, and takes neither mode nor
// owner from the file behind it.
func TestLinkIsReplacedNotFollowed(t *testing.T) {
	t.Parallel()
	sys := tasktest.New(t)
	sys.Write(t, "/etc/target", "theirs", 0o600)
	if err := os.Symlink("target", sys.Path("/etc/x")); err != nil {
		t.Fatal(err)
	}
	if err := Write(sys, "/etc/x", strings.NewReader("new"), Access{}); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(sys.Path("/etc/x"))
	if err != nil || info.Mode() != 0o644 || sys.Read(t, "/etc/target") != "theirs" {
		t.Errorf("%v, %v; target has %q", info, err, sys.Read(t, "/etc/target"))
	}
}

func TestFailedWriteLeavesNoFile(t *testing.T) {
	t.Parallel()
	sys := tasktest.New(t)
	sys.Write(t, "/etc/x", "old", 0o644)
	err := Write(sys, "/etc/x", iotest.ErrReader(errors.New("cut")), Access{})
	if err == nil || sys.Read(t, "/etc/x") != "old" {
		t.Errorf("error %v, content %q; want the old content", err, sys.Read(t, "/etc/x"))
	}
	entries, err := os.ReadDir(sys.Path("/etc"))
	if err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

func TestTemporaryFilesOfKilledRunsAreRemoved(t *testing.T) {
	t.Parallel()
	sys := tasktest.New(t)
	dead := exec.Command("true")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	alive := strconv.Itoa(os.Getppid())
	files := map[string]struct {
		name  string
		age   time.Duration
		stays bool
	}{
		"of a writer that was killed": {name: ".x.deployer-" + strconv.Itoa(dead.Process.Pid) + "-1"},
		"of a running writer":         {name: ".x.deployer-" + alive + "-2", stays: true},
		"old, process id is reused":   {name: ".x.deployer-" + alive + "-3", age: 2 * staleAfter},
		"of another file":             {name: ".xy.deployer-" + strconv.Itoa(dead.Process.Pid) + "-4", stays: true},
	}
	for _, f := range files {
		sys.Write(t, "/etc/"+f.name, "part", 0o600)
		when := time.Now().Add(-f.age)
		if err := os.Chtimes(sys.Path("/etc/"+f.name), when, when); err != nil {
			t.Fatal(err)
		}
	}
	if err := Write(sys, "/etc/x", strings.NewReader("new"), Access{}); err != nil {
		t.Fatal(err)
	}
	for what, f := range files {
		if _, err := os.Stat(sys.Path("/etc/" + f.name)); (err == nil) != f.stays {
			t.Errorf("%s: %v, want it to stay: %t", what, err, f.stays)
		}
	}
}

func TestResolve(t *testing.T) {
	t.Parallel()
	sys := tasktest.New(t)
	sys.Write(t, "/etc/real", "x", 0o644)
	for link, to := range map[string]string{"/etc/abs": "/etc/real", "/etc/rel": "real", "/etc/two": "abs", "/etc/loop": "loop", "/etc/dangling": "/etc/new"} {
		if err := os.Symlink(to, sys.Path(link)); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{"/etc/abs": "/etc/real", "/etc/rel": "/etc/real", "/etc/two": "/etc/real", "/etc/real": "/etc/real", "/etc/dangling": "/etc/new"} {
		if got, err := Resolve(sys, path, true); err != nil || got != want {
			t.Errorf("%s: %s, %v; want %s", path, got, err, want)
		}
	}
	if _, err := Resolve(sys, "/etc/loop", true); err == nil {
		t.Error("a loop is followed")
	}
	if _, err := Resolve(sys, "/etc/abs", false); err == nil || !strings.Contains(err.Error(), "follow: true") {
		t.Errorf("error %v, want one that says follow: true", err)
	}
	if _, err := Resolve(sys, "etc", false); err == nil {
		t.Error("a relative path is accepted")
	}
}

// TestDiffOfANewFile: the diff of a new file, which is generated without udiff, equals
// that of udiff.
func TestDiffOfANewFile(t *testing.T) {
	for _, after := range []string{"", "a", "a\n", "a\nb", "a\nb\n", "\n", "\n\n", "é\r\n-\n", "a\n\nb"} {
		if got, want := unified("/etc/x", "", after), udiff.Unified("/etc/x", "/etc/x", "", after); got != want {
			t.Errorf("%q: got\n%q\nwant\n%q", after, got, want)
		}
	}
}

func TestDiff(t *testing.T) {
	t.Parallel()
	if got := Diff("/x", []byte("a\nb\n"), []byte("a\nc\n")); !strings.Contains(got, "-b\n+c\n") {
		t.Errorf("diff %q", got)
	}
	if got := Diff("/x", []byte("a\x00"), []byte("b")); got != "" {
		t.Errorf("a diff of what is not text: %q", got)
	}
	long := strings.Repeat("line of some length\n", 10000)
	got := Diff("/x", nil, []byte(long))
	if len(got) > maxDiff+200 || !strings.Contains(got, "more bytes of this diff are not shown") {
		t.Errorf("a diff of %d bytes that does not say it was cut", len(got))
	}
}

func TestAccessByName(t *testing.T) {
	t.Parallel()
	sys := tasktest.New(t)
	sys.Write(t, "/etc/passwd", "root:x:0:0::/root:/bin/sh\nme:x:"+strconv.Itoa(os.Getuid())+":0::/:/bin/sh\n", 0o644)
	sys.Write(t, "/etc/x", "x", 0o644)
	info, err := os.Stat(sys.Path("/etc/x"))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := (Access{Owner: "me"}).Differences(sys, info); err != nil || len(got) != 0 {
		t.Errorf("own file: %v, %v", got, err)
	}
	if got, err := (Access{Owner: "later"}).Differences(sys, info); err != nil || len(got) != 1 {
		t.Errorf("a user that is not there yet: %v, %v; want one difference", got, err)
	}
	err = Access{Owner: "later"}.SetFile(sys, "/etc/x", info)
	if err == nil || !strings.Contains(err.Error(), `no user "later"`) {
		t.Errorf("error %v", err)
	}
}

// TestAccessIsNotSetOnAnotherFile: the owner of a directory exchanges a file, or changes it, after
// it was compared. It keeps its mode.
func TestAccessIsNotSetOnAnotherFile(t *testing.T) {
	t.Parallel()
	for name, attack := range map[string]func(t *testing.T, path string){
		"another file":  func(t *testing.T, path string) { check(t, os.Rename(path+"2", path)) },
		"a directory":   func(t *testing.T, path string) { check(t, os.Remove(path)); check(t, os.Mkdir(path, 0o755)) },
		"a link":        func(t *testing.T, path string) { check(t, os.Remove(path)); check(t, os.Symlink("x2", path)) },
		"other content": func(t *testing.T, path string) { check(t, os.WriteFile(path, []byte("evil"), 0)) },
		"nothing":       nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sys := tasktest.New(t)
			sys.Write(t, "/d/x", "good", 0o755)
			sys.Write(t, "/d/x2", "evil", 0o755)
			was, err := Lstat(sys, "/d/x")
			check(t, err)
			time.Sleep(20 * time.Millisecond) // the clock of file systems ticks every few milliseconds
			if attack != nil {
				attack(t, sys.Path("/d/x"))
			}
			err = Access{Mode: "4755"}.SetFile(sys, "/d/x", was)
			info, statErr := os.Stat(sys.Path("/d/x"))
			check(t, statErr)
			if set := info.Mode()&os.ModeSetuid != 0; set != (attack == nil) || (err == nil) != set {
				t.Errorf("%v, mode %v", err, info.Mode())
			}
		})
	}
}

func TestRenameErrorNamesTheCause(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]string{syscall.EBUSY: "a mount of its own", syscall.EPERM: "lsattr", syscall.EXDEV: "cross-device"} {
		if got := explainRename("/etc/x", &os.LinkError{Op: "rename", Err: err}).Error(); !strings.Contains(got, want) {
			t.Errorf("%s, want %q", got, want)
		}
	}
}

// TestPartialFileOfAnotherUserIsNotContinued: the partial file of an earlier attempt is
// continued, unless another user owns it or may write to it, it has another name, or it
// is no regular file.
func TestPartialFileOfAnotherUserIsNotContinued(t *testing.T) {
	const key = "0123456789ab"
	for name, c := range map[string]struct {
		plant func(t *testing.T, path string)
		keeps bool
	}{
		"of an earlier attempt":  {func(*testing.T, string) {}, true},
		"that others may write":  {func(t *testing.T, path string) { check(t, os.Chmod(path, 0o666)) }, false},
		"with another hard link": {func(t *testing.T, path string) { check(t, os.Link(path, path+"-other")) }, false},
		"of another user": {func(t *testing.T, path string) {
			if os.Geteuid() == 0 {
				check(t, os.Chown(path, 65534, 65534))
			} else {
				check(t, os.Chmod(path, 0o622))
			}
		}, false},
		"that is a link": {func(t *testing.T, path string) {
			check(t, os.Rename(path, path+"-other"))
			check(t, os.Symlink(path+"-other", path))
		}, false},
		"that is a pipe": {func(t *testing.T, path string) {
			check(t, os.Remove(path))
			check(t, syscall.Mkfifo(path, 0o600))
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			sys := tasktest.New(t)
			sys.Mkdir(t, "/d")
			first, err := OpenPartial(sys, "/d/f", key)
			if err != nil {
				t.Fatal(err)
			}
			_, err = first.WriteString("half")
			check(t, err)
			path := first.Name()
			first.Close()
			c.plant(t, path)
			second, err := OpenPartial(sys, "/d/f", key)
			if err != nil {
				t.Fatal(err)
			}
			defer second.Close()
			have, err := io.ReadAll(second)
			if err != nil || (string(have) == "half") != c.keeps {
				t.Errorf("it has %q, %v; gone on with: want %t", have, err, c.keeps)
			}
			info, err := second.Stat()
			if err != nil || info.Mode().Perm() != 0o600 || info.Sys().(*syscall.Stat_t).Nlink != 1 {
				t.Errorf("%v, %v", info, err)
			}
		})
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
