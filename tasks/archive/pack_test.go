package archive

import (
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/tasks/hostcmd"
	"deployer/tasks/tasktest"
)

func site(t *testing.T) *tasktest.System {
	t.Helper()
	sys := tasktest.New(t)
	sys.Write(t, "/srv/site/index.html", "<p>", 0o640)
	sys.Write(t, "/srv/site/bin/up", "up", 0o755)
	sys.Write(t, "/srv/site/logs/a.log", "log", 0o644)
	sys.Mkdir(t, "/srv/site/empty")
	sys.Mkdir(t, "/backup")
	if err := os.Symlink("bin/up", sys.Path("/srv/site/link")); err != nil {
		t.Fatal(err)
	}
	return sys
}

func TestPackAndUnpack(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		"site": "drwxr-xr-x", "site/index.html": "-rw-r----- <p>", "site/bin": "drwxr-xr-x", "site/bin/up": "-rwxr-xr-x up",
		"site/logs": "drwxr-xr-x", "site/empty": "drwxr-xr-x", "site/link": "-> bin/up",
	}
	for _, dest := range []string{"/backup/s.tar", "/backup/s.tar.gz", "/backup/s.tgz", "/backup/s.tar.zst", "/backup/s.tar.xz", "/backup/s.zip"} {
		t.Run(dest, func(t *testing.T) {
			t.Parallel()
			sys := site(t)
			change := tasktest.Converge(t, sys, &Pack{Path: "/srv/site", Dest: dest, Exclude: []string{"*.log"}, Mode: "0600"})
			if diff := cmp.Diff([]string{dest + ": pack 7 files"}, tasktest.Actions(change)); diff != "" {
				t.Error(diff)
			}
			if info, err := os.Stat(sys.Path(dest)); err != nil || info.Mode() != fs.FileMode(0o600) {
				t.Errorf("%v, %v", info, err)
			}
			tasktest.Converge(t, sys, &Unpack{From: dest, Dest: "/restored"})
			if diff := cmp.Diff(want, tree(t, sys, "/restored")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestTarListsThePackedArchive lists the archive with the tar of the machine.
func TestTarListsThePackedArchive(t *testing.T) {
	t.Parallel()
	sys := site(t)
	sys.Exec = tasktest.RealExec
	sys.Write(t, "/etc/app.conf", "c", 0o644)
	tasktest.Converge(t, sys, &Pack{Paths: []string{"/srv/site/*.html", "/etc/app.conf"}, Dest: "/backup/s.tar.gz"})
	out, err := hostcmd.Run(t.Context(), sys, "tar", "-tzf", sys.Path("/backup/s.tar.gz"))
	if err != nil || out != "etc/app.conf\nsrv/site/index.html\n" {
		t.Errorf("%q, %v", out, err)
	}
}

func TestPackDetectsChanges(t *testing.T) {
	t.Parallel()
	changes := map[string]func(t *testing.T, sys *tasktest.System) error{
		"content": func(t *testing.T, sys *tasktest.System) error {
			sys.Write(t, "/srv/site/index.html", "<b>", 0o640)
			return nil
		},
		"new file": func(t *testing.T, sys *tasktest.System) error {
			sys.Write(t, "/srv/site/new", "", 0o644)
			return nil
		},
		"gone": func(_ *testing.T, sys *tasktest.System) error { return os.Remove(sys.Path("/srv/site/bin/up")) },
		"mode": func(_ *testing.T, sys *tasktest.System) error { return os.Chmod(sys.Path("/srv/site/bin/up"), 0o700) },
		"archive": func(_ *testing.T, sys *tasktest.System) error {
			return os.WriteFile(sys.Path("/srv/site/s.zip"), nil, 0o644)
		},
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sys := site(t)
			m := &Pack{Path: "/srv/site", Dest: "/srv/site/s.zip"} // it is not packed into itself
			tasktest.Converge(t, sys, m)
			if err := change(t, sys); err != nil {
				t.Fatal(err)
			}
			tasktest.Converge(t, sys, m)
		})
	}
}

func TestPackErrors(t *testing.T) {
	t.Parallel()
	sys := site(t)
	if err := os.Symlink("/etc", sys.Path("/backup/l.tar")); err != nil {
		t.Fatal(err)
	}
	for want, m := range map[string]*Pack{
		"names no format":         {Path: "/srv/site", Dest: "/backup/x"},
		"path or paths is":        {Dest: "/backup/x.tar"},
		"not an absolute":         {Path: "/srv", Dest: "x.tar"},
		"is not absolute":         {Path: "srv", Dest: "/x.tar"},
		"/none does not exist":    {Path: "/none", Dest: "/backup/x.tar"},
		"make it with the direct": {Path: "/srv", Dest: "/none/x.tar"},
		"symbolic link to /etc":   {Path: "/srv", Dest: "/backup/l.tar"},
	} {
		if _, _, err := tasktest.Run(t, sys, m); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	if !tasktest.Check(t, sys, &Pack{Path: "/later", Dest: "/backup/x.tar"}).Needed {
		t.Error("a dry run does not tolerate what an earlier step would make")
	}
}
