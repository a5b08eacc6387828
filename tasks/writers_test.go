package tasks

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"deployer/engine"
	"deployer/strictyaml"
	"deployer/tasks/account"
	"deployer/tasks/archive"
	"deployer/tasks/artifact"
	"deployer/tasks/cron"
	"deployer/tasks/download"
	"deployer/tasks/edit"
	"deployer/tasks/file"
	"deployer/tasks/hostcmd"
	"deployer/tasks/identity"
	"deployer/tasks/kernel"
	"deployer/tasks/mount"
	"deployer/tasks/packages"
	"deployer/tasks/tasktest"
	"deployer/tasks/timer"
)

// writer is a module that replaces the file at path.
type writer struct {
	path   string
	before string // content before the module runs
	// mode is the mode that the module sets; "": it keeps the present mode.
	mode string
	// fresh: owner and group are those of a new file, as with tar.
	fresh bool
	// restored: the module runs restorecon, which sets the context.
	restored bool
	// follows: the file belongs to the system, and the module follows a link in its place.
	follows bool
	module  func(sys *tasktest.System) engine.Module
}

// writers returns the modules that write files, each with an existing file. The contents
// are tested by the tests of each module.
func writers(t *testing.T) map[string]writer {
	t.Helper()
	blob := func(content []byte, make func(digest string) engine.Module) func(*tasktest.System) engine.Module {
		return func(sys *tasktest.System) engine.Module { return make(sys.AddBlob(content)) }
	}
	plain := func(m engine.Module) func(*tasktest.System) engine.Module {
		return func(*tasktest.System) engine.Module { return m }
	}
	const conf = "/etc/app/app.conf"
	return map[string]writer{
		"file":       {path: conf, before: "old", module: plain(&file.File{Path: conf, Content: new("new")})},
		"file, blob": {path: conf, before: "old", module: blob([]byte("new"), func(d string) engine.Module { return &file.File{Path: conf, Blob: d} })},
		"line":       {path: conf, before: "a\n", module: plain(&edit.Line{Path: conf, Line: "b"})},
		"text_block": {path: conf, before: "a\n", module: plain(&edit.TextBlock{Path: conf, Block: "b"})},
		"replace":    {path: conf, before: "a\n", module: plain(&edit.Replace{Path: conf, Regexp: "a", Replacement: "b"})},
		"directory_tree": {path: conf, before: "old", module: blob([]byte("new"), func(d string) engine.Module {
			return &file.DirectoryTree{Path: "/etc/app", Entries: []file.TreeEntry{{Name: "app.conf", Blob: d}}}
		})},
		"unpack": {path: conf, before: "old", mode: "-rw-r--r--", fresh: true, module: blob(tarOf(t, "app.conf", "new"), func(d string) engine.Module { return &archive.Unpack{Blob: d, Dest: "/etc/app"} })},
		"archive": {path: "/etc/app/a.tar", before: "old", module: func(sys *tasktest.System) engine.Module {
			sys.Write(t, "/srv/x", "x", 0o644)
			return &archive.Pack{Path: "/srv/x", Dest: "/etc/app/a.tar"}
		}},
		"blob_install":   {fresh: true, path: "/etc/app/program", before: "old", mode: "-rwxr-xr-x", module: blob([]byte("new"), func(d string) engine.Module { return &artifact.Install{Blob: d, Dest: "/etc/app/program"} })},
		"cron":           {path: "/etc/cron.d/site", before: "# mine\n", mode: "-rw-r--r--", module: plain(&cron.Cron{Name: "x", Job: "/bin/x", Hour: "3", CronFile: "site"})},
		"hosts_entry":    {follows: true, path: "/etc/hosts", before: "127.0.0.1 localhost\n", module: plain(&identity.HostsEntry{Address: "10.0.0.1", Names: []string{"api"}})},
		"hostname":       {follows: true, path: "/etc/hostname", before: "old\n", module: plain(&identity.Hostname{Name: "m1"})},
		"sysctl":         {path: "/etc/sysctl.d/90-deployer-x.conf", before: "old", mode: "-rw-r--r--", module: plain(&kernel.Sysctl{Name: "x", Settings: map[string]string{"a.b": "1"}})},
		"kernel_module":  {path: "/etc/modules-load.d/deployer-modules.conf", before: "old", mode: "-rw-r--r--", module: plain(&kernel.Modules{Names: []string{"vxlan"}})},
		"swap":           {follows: true, path: "/etc/fstab", before: "/dev/sdb2 none swap sw 0 0\n", module: plain(&kernel.Swap{State: "off"})},
		"mount":          {follows: true, path: "/etc/fstab", before: "# mine\n", module: plain(&mount.Mount{Path: "/data", Src: "/dev/sdb1", Fstype: "ext4", State: "present"})},
		"repository":     {path: "/etc/apt/sources.list.d/x.sources", before: "old", mode: "-rw-r--r--", module: plain(&packages.Repository{Name: "x", URL: strictyaml.Texts{"http://a"}, Suites: strictyaml.Texts{"./"}, Trusted: true, Enabled: true})},
		"timer":          {path: "/etc/systemd/system/x.timer", before: "old", mode: "-rw-r--r--", module: plain(&timer.Timer{Name: "x", Command: hostcmd.Words{"/bin/x"}, OnCalendar: strictyaml.Texts{"daily"}})},
		"host_download":  {path: conf, before: "old", module: plain(&download.Host{URL: served(t, "new"), Dest: conf, SHA256: digestOf("new")})},
		"authorized_key": {restored: true, path: "/home/ops/.ssh/authorized_keys", before: "# mine\n", mode: "-rw-------", module: plain(&account.AuthorizedKey{User: "ops", Key: strictyaml.Texts{"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEB a@x"}})},
	}
}

// served returns the URL of a server on loopback for content.
func served(t *testing.T, content string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(content)) }))
	t.Cleanup(server.Close)
	return server.URL
}

func digestOf(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

func tarOf(t *testing.T, name, content string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content))}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(content)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// newWriterHost returns a host with the files that the writers need beside their own.
// Its programs succeed and do nothing.
func newWriterHost(t *testing.T) *tasktest.System {
	t.Helper()
	sys := tasktest.New(t)
	for path, text := range map[string]string{
		"/etc/passwd": "ops:x:" + itoa(owner()) + ":" + itoa(group()) + "::/home/ops:/bin/sh\n", "/etc/group": "", "/proc/swaps": "Filename Type Size Used Priority\n",
		"/proc/sys/kernel/hostname": "m1\n", "/proc/sys/kernel/osrelease": "6.1.0\n", "/proc/sys/a/b": "1\n", "/proc/modules": "vxlan 1 0 - Live 0x0\n",
		"/lib/modules/6.1.0/modules.builtin": "kernel/fs/overlayfs/overlay.ko\n", "/lib/modules/6.1.0/modules.dep": "kernel/net/vxlan/vxlan.ko:\n",
		"/proc/self/mountinfo": "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n", "/dev/sdb1": "", "/usr/bin/apt-get": "", "/etc/debian_version": "12",
	} {
		sys.Write(t, path, text, 0o644)
	}
	for _, dir := range []string{"/home/ops", "/etc/apt/keyrings", "/run/systemd/system"} {
		sys.Mkdir(t, dir)
	}
	chown(t, sys.Path("/home/ops"))
	systemd := tasktest.NewSystemd(map[string]*tasktest.FakeUnit{"x.timer": {}, "x.service": {}})
	sys.Exec = func(ctx context.Context, cmd engine.Command) (engine.CommandResult, error) {
		if cmd.Argv[0] == "systemctl" {
			return systemd.Exec(ctx, cmd)
		}
		return engine.CommandResult{}, nil
	}
	return sys
}

// owner returns another user than that of the test, if the test may change owners.
func owner() int {
	if os.Geteuid() == 0 {
		return 1234
	}
	return os.Geteuid()
}

func group() int {
	if os.Geteuid() == 0 {
		return 2345
	}
	return os.Getegid()
}

func itoa(n int) string { return strconv.Itoa(n) }

func chown(t *testing.T, path string) {
	t.Helper()
	if err := os.Lchown(path, owner(), group()); err != nil {
		t.Fatal(err)
	}
}

// label returns the attribute of SELinux for a file's context, or another attribute when
// the test may not set it.
func label() string {
	if os.Geteuid() == 0 {
		return "security.selinux"
	}
	return "user.selinux"
}

const context0 = "system_u:object_r:special_t:s0"

// TestWritersKeepOwnerModeAndContext: a module that replaces a file keeps its owner,
// mode and SELinux context unless its arguments set them, and the second check finds no
// difference.
func TestWritersKeepOwnerModeAndContext(t *testing.T) {
	t.Parallel()
	for name, w := range writers(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sys := newWriterHost(t)
			sys.Write(t, w.path, w.before, 0o640)
			path := sys.Path(w.path)
			chown(t, path)
			if err := unix.Setxattr(path, label(), []byte(context0), 0); err != nil {
				t.Fatalf("the file system of the test has no attributes: %v", err)
			}
			tasktest.Converge(t, sys, w.module(sys))
			info, err := os.Lstat(path)
			if err != nil || sys.Read(t, w.path) == w.before {
				t.Fatalf("it was not written: %v", err)
			}
			stat := info.Sys().(*syscall.Stat_t)
			wantMode, wantOwner, wantGroup := "-rw-r-----", owner(), group()
			if w.mode != "" {
				wantMode = w.mode
			}
			if w.fresh {
				wantOwner, wantGroup = os.Geteuid(), os.Getegid()
			}
			if info.Mode().String() != wantMode || int(stat.Uid) != wantOwner || int(stat.Gid) != wantGroup {
				t.Errorf("%s %d:%d, want %s %d:%d", info.Mode(), stat.Uid, stat.Gid, wantMode, wantOwner, wantGroup)
			}
			if w.restored || w.fresh && os.Geteuid() != 0 {
				return
			}
			value := make([]byte, 100)
			if n, err := unix.Lgetxattr(path, label(), value); err != nil || string(value[:n]) != context0 {
				t.Errorf("context %q, %v", value[:max(n, 0)], err)
			}
		})
	}
}

// TestWritersDoNotFollowALinkInPlaceOfTheFile: a writer does not write through a link in
// place of its file, except to files of the system such as /etc/fstab. Most modules
// fail; modules that own the file alone replace the link.
func TestWritersDoNotFollowALinkInPlaceOfTheFile(t *testing.T) {
	t.Parallel()
	for name, w := range writers(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sys := newWriterHost(t)
			sys.Write(t, w.path, w.before, 0o640)
			sys.Write(t, "/elsewhere", w.before, 0o600)
			if err := os.Remove(sys.Path(w.path)); err != nil {
				t.Fatal(err)
			}
			to, err := filepath.Rel(filepath.Dir(w.path), "/elsewhere")
			if err == nil {
				err = os.Symlink(to, sys.Path(w.path))
			}
			if err != nil {
				t.Fatal(err)
			}
			_, _, err = tasktest.Run(t, sys, w.module(sys))
			if w.follows {
				if link, rerr := os.Readlink(sys.Path(w.path)); err != nil || rerr != nil || link != to || sys.Read(t, "/elsewhere") == w.before {
					t.Errorf("the link to %q (%v), whose content is %q: %v", link, rerr, sys.Read(t, "/elsewhere"), err)
				}
				return
			}
			info, lerr := os.Lstat(sys.Path(w.path))
			switch {
			case lerr != nil:
				t.Error(lerr)
			case err == nil && !info.Mode().IsRegular():
				t.Error("the link stays, and there is no error")
			case err != nil && !strings.Contains(err.Error(), "symbolic link"):
				t.Errorf("error %v, want one that names the link", err)
			}
			if got := sys.Read(t, "/elsewhere"); got != w.before {
				t.Errorf("written through the link: %q", got)
			}
			if info, err := os.Stat(sys.Path("/elsewhere")); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("the file behind the link: %v, %v", info.Mode(), err)
			}
		})
	}
}
