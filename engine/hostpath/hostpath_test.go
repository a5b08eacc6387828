package hostpath

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// user is the id of a user other than the agent's.
const user = 1234

// tree makes a root directory. An entry is "path", a directory, "path -> target"
// or "path = content"; a "*" at its end gives it to user.
func tree(t *testing.T, entries ...string) string {
	t.Helper()
	root := t.TempDir()
	for _, e := range entries {
		e, users := strings.CutSuffix(e, "*")
		link, target, isLink := strings.Cut(e, " -> ")
		file, content, isFile := strings.Cut(e, " = ")
		path := filepath.Join(root, e)
		var err error
		switch {
		case isLink:
			path = filepath.Join(root, link)
			err = os.Symlink(target, path)
		case isFile:
			path = filepath.Join(root, file)
			err = os.WriteFile(path, []byte(content), 0o644)
		default:
			err = os.Mkdir(path, 0o755)
		}
		if users && err == nil {
			err = os.Lchown(path, user, user)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Fatal("this test gives files to another user: run it as root")
	}
}

func TestLinks(t *testing.T) {
	t.Parallel()
	needRoot(t)
	host := []string{
		"/run", "/run/app", "/run/app/x = root's", "/var", "/var/run -> /run", "/var/up -> ../run", "/etc", "/etc/x = secret",
		"/home", "/home/bob*", "/home/bob/conf -> /etc*", "/home/bob/loop -> loop*", "/home/bob/dir*", "/home/bob/dir/x = bob's*",
		"/home/bob/own -> dir*", "/home/bob/to -> /home/bob/own/../dir*", "/home/bob/file -> dir/x*", "/home/bob/shadow -> /etc/x*",
		"/home/bob/roots -> /etc", "/home/bob/far -> /var/run/app*", "/above -> ../../../../run",
	}
	for name, tt := range map[string]struct {
		path string
		want string // content; empty for a refusal
	}{
		"no link":                                                {"/run/app/x", "root's"},
		"link of root":                                           {"/var/run/app/x", "root's"},
		"relative link of root":                                  {"/var/up/app/x", "root's"},
		"link above the root directory":                          {"/above/app/x", "root's"},
		"directory of a user":                                    {"/home/bob/dir/x", "bob's"},
		"link of a user to that user's directory":                {"/home/bob/own/x", "bob's"},
		"link of a user through another link of the user":        {"/home/bob/to/x", "bob's"},
		"link of a user at the end, to that user's file":         {"/home/bob/file", "bob's"},
		"link of a user to root's directory":                     {"/home/bob/conf/x", ""},
		"link of a user through root's link to root's directory": {"/home/bob/far/x", ""},
		"link of a user at the end, to root's file":              {"/home/bob/shadow", ""},
		"link of root in a directory that a user can write":      {"/home/bob/roots/x", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := tree(t, host...)
			got, err := read(root, tt.path)
			var untrusted *UntrustedLinkError
			switch {
			case tt.want != "" && (err != nil || got != tt.want):
				t.Errorf("%q, %v; want %q", got, err, tt.want)
			case tt.want == "" && !errors.As(err, &untrusted):
				t.Errorf("%q, %v; want a refusal", got, err)
			}
			if tt.want != "" {
				return
			}
			path, err := Resolve(root, tt.path)
			if err != nil {
				t.Fatal(err)
			}
			if n, err := Open(root, path); err != nil {
				t.Errorf("resolved as %s: %v", path, err)
			} else {
				n.Close()
			}
		})
	}
	if _, err := read(tree(t, host...), "/home/bob/loop/x"); err == nil {
		t.Error("a loop is followed")
	}
}

func read(root, path string) (string, error) {
	n, err := Follow(root, path)
	if err != nil {
		return "", err
	}
	defer n.Close()
	f, err := n.File()
	if err != nil {
		return "", err
	}
	defer f.Close()
	data := make([]byte, 100)
	size, err := f.Read(data)
	return string(data[:size]), err
}

// TestStickyDirectory: a link of root in /tmp is trusted; a link in a directory where
// everybody may rename it is not.
func TestStickyDirectory(t *testing.T) {
	t.Parallel()
	root := tree(t, "/tmp", "/etc", "/etc/x = there", "/tmp/link -> /etc")
	for mode, want := range map[fs.FileMode]bool{0o777 | fs.ModeSticky: true, 0o777: false, 0o775: true} {
		if err := os.Chmod(filepath.Join(root, "tmp"), mode); err != nil {
			t.Fatal(err)
		}
		if _, err := read(root, "/tmp/link/x"); (err == nil) != want {
			t.Errorf("%v: %v, want it followed: %t", mode, err, want)
		}
	}
}

func TestResolve(t *testing.T) {
	t.Parallel()
	root := tree(t, "/open", "/etc", "/run", "/var", "/var/run -> ../run", "/open/l -> /etc")
	if err := os.Chmod(filepath.Join(root, "open"), 0o777); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"/etc/x": "/etc/x", "/var/run/x": "/var/run/x", "/open/l/x": "/etc/x", "/open/l/new/x": "/etc/new/x", "/none/at/all": "/none/at/all", "/": "/",
	} {
		if got, err := Resolve(root, path); err != nil || got != want {
			t.Errorf("%s: %s, %v; want %s", path, got, err, want)
		}
	}
}

func TestMakeDir(t *testing.T) {
	t.Parallel()
	root := tree(t, "/run", "/var", "/var/run -> /run", "/open", "/open/l -> /run")
	if err := os.Chmod(filepath.Join(root, "open"), 0o777); err != nil {
		t.Fatal(err)
	}
	dir, err := MakeDir(root, "/var/run/a/b")
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	info, err := os.Stat(filepath.Join(root, "run/a/b"))
	if err != nil || info.Mode().Perm() != 0o755 || dir.Path() != "/run/a/b" {
		t.Errorf("%v, %v, %s", info, err, dir.Path())
	}
	if _, err := MakeDir(root, "/open/l/c"); err == nil {
		t.Error("a directory was made through a link that anybody can put there")
	}
	if _, err := os.Lstat(filepath.Join(root, "run/c")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// TestNodeStays: changes apply to the opened node, not to a later file of its name.
func TestNodeStays(t *testing.T) {
	t.Parallel()
	root := tree(t, "/d", "/d/x = mine", "/victim = v")
	n, err := Open(root, "/d/x")
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	x := filepath.Join(root, "d/x")
	if err := errors.Join(os.Rename(x, x+"2"), os.Symlink("../victim", x)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(n.Chmod(0o600|fs.ModeSetgid), n.Chown(-1, os.Getegid())); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]fs.FileMode{"d/x2": 0o600, "victim": 0o644} {
		if info, err := os.Stat(filepath.Join(root, name)); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v; want %v", name, info.Mode(), err, want)
		}
	}
	link, err := Open(root, "/d/x")
	if err != nil {
		t.Fatal(err)
	}
	defer link.Close()
	if err := link.Chmod(0o777); err == nil {
		t.Error("the mode of a link was set")
	}
	if _, err := link.File(); err == nil {
		t.Error("a link was opened as a file")
	}
}

// TestMkdirReturnsTheNewDirectory: the owner of the parent puts a program in the place of a
// directory after it was created. The program keeps its mode.
func TestMkdirReturnsTheNewDirectory(t *testing.T) {
	t.Parallel()
	root := tree(t, "/home", "/home/program = mine")
	dir, err := OpenDir(root, "/home")
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	made, err := dir.OpenOrMkdir("shared", 0o751)
	if err != nil {
		t.Fatal(err)
	}
	defer made.Close()
	if info, err := made.Stat(); err != nil || info.Mode() != fs.ModeDir|0o751 {
		t.Errorf("the new directory is %v, %v", info.Mode(), err)
	}
	shared := filepath.Join(root, "home/shared")
	if err := errors.Join(os.Remove(shared), os.Rename(filepath.Join(root, "home/program"), shared)); err != nil {
		t.Fatal(err)
	}
	_ = made.Chmod(0o755 | fs.ModeSetgid) // of the directory without a name
	if info, err := os.Stat(shared); err != nil || info.Mode() != 0o644 {
		t.Errorf("the program has become %v, %v", info.Mode(), err)
	}
	if n, err := dir.OpenOrMkdir("shared", 0o755); err == nil {
		n.Close()
		t.Error("a program was opened as a directory")
	}
}

// BenchmarkOpen opens a file as an agent does for each file task: no link on the way,
// and one.
func BenchmarkOpen(b *testing.B) {
	root := b.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "etc/kubernetes/pki/etcd"), 0o755); err != nil {
		b.Fatal(err)
	}
	if err := os.Symlink("etc", filepath.Join(root, "link")); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "etc/kubernetes/pki/etcd/ca.crt"), nil, 0o644); err != nil {
		b.Fatal(err)
	}
	for _, first := range []string{"/etc", "/link"} {
		b.Run(first, func(b *testing.B) {
			for b.Loop() {
				n, err := Open(root, first+"/kubernetes/pki/etcd/ca.crt")
				if err != nil {
					b.Fatal(err)
				}
				n.Close()
			}
		})
	}
}
