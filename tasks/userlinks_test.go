package tasks

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"deployer/engine"
	"deployer/tasks/archive"
	"deployer/tasks/artifact"
	"deployer/tasks/file"
	"deployer/tasks/gitclone"
	"deployer/tasks/stat"
	"deployer/tasks/tasktest"
	"deployer/tasks/wait"
)

// moveAside moves a directory of the host to the path to, and puts a link in its place.
// With anybody any user may have created the link; otherwise it is root's.
func moveAside(t *testing.T, sys *tasktest.System, dir, to string, anybody bool) {
	t.Helper()
	if err := os.Rename(sys.Path(dir), sys.Path(to)); err != nil {
		t.Fatal(err)
	}
	target, err := filepath.Rel(filepath.Dir(dir), to)
	if err == nil {
		err = os.Symlink(target, sys.Path(dir))
	}
	if err != nil {
		t.Fatal(err)
	}
	if !anybody {
		return
	}
	if err := os.Chmod(sys.Path(filepath.Dir(dir)), 0o777); err != nil {
		t.Fatal(err)
	}
}

// listing returns the files below a directory of the host with contents, modes and
// owners.
func listing(t *testing.T, sys *tasktest.System, dir string) string {
	t.Helper()
	var out strings.Builder
	err := filepath.WalkDir(sys.Path(dir), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		out.WriteString(path + " " + info.Mode().String())
		if info.Mode().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			out.WriteString(" " + string(data))
		}
		out.WriteString("\n")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestWritersDoNotFollowLinksOfUsersInParentDirectories: a writer does not write through
// a link that any user can create above a file; it does through a link of root, such as
// /var/run.
func TestWritersDoNotFollowLinksOfUsersInParentDirectories(t *testing.T) {
	t.Parallel()
	for name, w := range writers(t) {
		for kind, anybody := range map[string]bool{"root's": false, "anybody's": true} {
			t.Run(name+", "+kind, func(t *testing.T) {
				t.Parallel()
				sys := newWriterHost(t)
				sys.Write(t, w.path, w.before, 0o640)
				chown(t, sys.Path(w.path))
				moveAside(t, sys, filepath.Dir(w.path), "/elsewhere", anybody)
				before := listing(t, sys, "/elsewhere")
				_, _, err := tasktest.Run(t, sys, w.module(sys))
				refused := anybody && !w.follows
				switch name {
				case "authorized_key", "directory_tree", "unpack": // they create a directory in place of the link
					refused = true
				}
				switch {
				case refused && (err == nil || !strings.Contains(err.Error(), "symbolic link")):
					t.Errorf("error %v, want one that names the link", err)
				case !refused && err != nil:
					t.Error(err)
				}
				if changed := listing(t, sys, "/elsewhere") != before; changed == refused {
					t.Errorf("written through the link: %t", changed)
				}
			})
		}
	}
}

// TestModulesDoNotFollowLinksOfUsersInParentDirectories does the same for modules that
// remove, link, create directories or read.
func TestModulesDoNotFollowLinksOfUsersInParentDirectories(t *testing.T) {
	t.Parallel()
	for name, module := range map[string]func(*tasktest.System) engine.Module{
		"absent":    func(*tasktest.System) engine.Module { return &file.Absent{Path: "/open/conf/x"} },
		"directory": func(*tasktest.System) engine.Module { return &file.Directory{Path: "/open/conf/new/dir"} },
		"link":      func(*tasktest.System) engine.Module { return &file.Link{Path: "/open/conf/l", To: "/x"} },
		"mode":      func(*tasktest.System) engine.Module { return &file.File{Path: "/open/conf/x", Mode: "0777"} },
		"copy of it": func(*tasktest.System) engine.Module {
			return &file.File{Path: "/stolen", From: "/open/conf/x"}
		},
		"copy of a tree": func(*tasktest.System) engine.Module {
			return &file.DirectoryTree{Path: "/stolen", From: "/open/conf/sub"}
		},
		"archive of it": func(*tasktest.System) engine.Module {
			return &archive.Pack{Path: "/open/conf/x", Dest: "/stolen.tar"}
		},
		"unpack": func(sys *tasktest.System) engine.Module {
			return &archive.Unpack{Blob: sys.AddBlob(tarOf(t, "x", "new")), Dest: "/open/conf/x.d"}
		},
		"blob_install": func(sys *tasktest.System) engine.Module {
			return &artifact.Install{Blob: sys.AddBlob([]byte("new")), Dest: "/open/conf/sub/program"}
		},
		"git":  func(*tasktest.System) engine.Module { return &gitclone.Git{Repo: "/repo", Dest: "/open/conf/clone"} },
		"read": func(*tasktest.System) engine.Module { return &stat.Read{Paths: []string{"/open/conf/x"}} },
		"wait_for": func(*tasktest.System) engine.Module {
			return &wait.Condition{Path: "/open/conf/x", SearchRegex: "secret", Timeout: time.Millisecond, Interval: time.Millisecond}
		},
		"read_part": func(*tasktest.System) engine.Module { return &stat.Part{Path: "/open/conf/x"} },
		"stat for fetch": func(*tasktest.System) engine.Module {
			return &stat.Stat{Path: "/open/conf/x", Follow: true, OnlyTrusted: true, Checksum: true}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sys := newWriterHost(t)
			sys.Write(t, "/open/conf/x", "secret", 0o600)
			sys.Write(t, "/open/conf/sub/x", "secret", 0o600)
			moveAside(t, sys, "/open/conf", "/elsewhere", true)
			before := listing(t, sys, "/elsewhere")
			change, _, err := tasktest.Run(t, sys, module(sys))
			if err == nil || !strings.Contains(err.Error(), "symbolic link") {
				t.Errorf("%+v, error %v; want one that names the link", change, err)
			}
			if after := listing(t, sys, "/elsewhere"); after != before {
				t.Errorf("before:\n%s\nafter:\n%s", before, after)
			}
			if stolen, _ := filepath.Glob(sys.Path("/stolen*")); name != "archive of it" && name != "copy of a tree" && stolen != nil {
				t.Errorf("written through the link: %v", stolen)
			}
		})
	}
}

// TestFollowAllowsLinksOfUsers: with follow a module writes through any link, and the
// backup has the path that was written to.
func TestFollowAllowsLinksOfUsers(t *testing.T) {
	t.Parallel()
	for name, module := range map[string]engine.Module{
		"file":      &file.File{Path: "/open/conf/x", Content: new("new"), Follow: true},
		"directory": &file.Directory{Path: "/open/conf/d", Follow: true},
		"link":      &file.Link{Path: "/open/conf/l", To: "/x", Follow: true},
		"absent":    &file.Absent{Path: "/open/conf/x", Follow: true},
		"read":      &stat.Read{Paths: []string{"/open/conf/x"}, Follow: true},
		"read_part": &stat.Part{Path: "/open/conf/x", Follow: true},
		"stat":      &stat.Stat{Path: "/open/conf/x", Follow: true, Checksum: true},
		"wait_for":  &wait.Condition{Path: "/open/conf/x", SearchRegex: "old", Follow: true, Timeout: time.Second, Interval: time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sys := newWriterHost(t)
			sys.Write(t, "/open/conf/x", "old", 0o600)
			moveAside(t, sys, "/open/conf", "/elsewhere", true)
			if _, _, err := tasktest.Run(t, sys, module); err != nil {
				t.Fatal(err)
			}
			for _, kept := range sys.Kept() {
				if filepath.Dir(kept) != "/elsewhere" {
					t.Errorf("backups %s, want the path behind the link", kept)
				}
			}
		})
	}
}
