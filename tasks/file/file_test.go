package file

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
	"deployer/tasks/hostfile"
	"deployer/tasks/tasktest"
)

func TestModulesAreIdempotent(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		prepare func(t *testing.T, sys *tasktest.System)
		module  engine.Module
		actions []string
		kept    []string
		states  []string
	}{
		"new file": {
			module:  &File{Path: "/etc/x", Content: new("hello\n"), Mode: "0600"},
			actions: []string{"/etc/x: create"},
			kept:    []string{"/etc/x"},
		},
		"changed content and mode": {
			prepare: func(t *testing.T, sys *tasktest.System) { sys.Write(t, "/etc/x", "old\n", 0o644) },
			module:  &File{Path: "/etc/x", Content: new("new\n"), Mode: "0600"},
			actions: []string{"/etc/x: replace, set mode 0644 -> 0600"},
			kept:    []string{"/etc/x"},
		},
		"same size, other content": {
			prepare: func(t *testing.T, sys *tasktest.System) { sys.Write(t, "/etc/x", "old", 0o644) },
			module:  &File{Path: "/etc/x", Content: new("new")},
			actions: []string{"/etc/x: replace"},
			kept:    []string{"/etc/x"},
		},
		"mode only": {
			prepare: func(t *testing.T, sys *tasktest.System) { sys.Write(t, "/etc/x", "keep", 0o644) },
			module:  &File{Path: "/etc/x", Mode: "4755"},
			actions: []string{"/etc/x: set mode 0644 -> 4755"},
			kept:    []string{"/etc/x"},
		},
		"made empty": {
			prepare: func(t *testing.T, sys *tasktest.System) { sys.Write(t, "/etc/x", "old", 0o644) },
			module:  &File{Path: "/etc/x", Empty: true},
			actions: []string{"/etc/x: replace"},
			kept:    []string{"/etc/x"},
		},
		"not forced": {
			prepare: func(t *testing.T, sys *tasktest.System) { sys.Write(t, "/etc/x", "theirs", 0o644) },
			module:  &File{Path: "/etc/x", Content: new("ours"), Mode: "0600", Force: new(false)},
			actions: []string{"/etc/x: set mode 0644 -> 0600"},
			kept:    []string{"/etc/x"},
		},
		"not forced, not there": {
			module:  &File{Path: "/etc/x", Content: new("ours"), Force: new(false)},
			actions: []string{"/etc/x: create"},
			kept:    []string{"/etc/x"},
		},
		"from another file": {
			prepare: func(t *testing.T, sys *tasktest.System) {
				sys.Write(t, "/usr/share/x", "model", 0o750)
				sys.Write(t, "/etc/x", "other", 0o644)
			},
			module:  &File{Path: "/etc/x", From: "/usr/share/x", Mode: "preserve"},
			actions: []string{"/etc/x: replace, set mode 0644 -> 0750"},
			kept:    []string{"/etc/x"},
		},
		"tree": {
			prepare: func(t *testing.T, sys *tasktest.System) { sys.Write(t, "/srv/t/b", "old", 0o600) },
			module: &DirectoryTree{Path: "/srv/t", DirMode: "0750", Entries: []TreeEntry{
				{Name: "a", Dir: true}, {Name: "a/x", Content: "x"}, {Name: "b", Content: "new"}, {Name: "c", Mode: "0755"},
			}},
			actions: []string{"/srv/t: set mode 0755 -> 0750", "/srv/t/a: create directory", "/srv/t/a/x: create", "/srv/t/b: replace", "/srv/t/c: create"},
			kept:    []string{"/srv/t", "/srv/t/a", "/srv/t/a/x", "/srv/t/b", "/srv/t/c"},
		},
		"tree from a directory of the host": {
			prepare: func(t *testing.T, sys *tasktest.System) {
				sys.Write(t, "/usr/share/s/a/x", "x", 0o755)
				symlink(t, sys, "a/x", "/usr/share/s/l")
				sys.Mkdir(t, "/srv")
			},
			module:  &DirectoryTree{Path: "/srv/t", From: "/usr/share/s", Mode: "preserve"},
			actions: []string{"/srv/t: create directory", "/srv/t/a: create directory", "/srv/t/a/x: create", "/srv/t/l: create"},
			kept:    []string{"/srv/t", "/srv/t/a", "/srv/t/a/x", "/srv/t/l"},
		},
		"absent": {
			prepare: func(t *testing.T, sys *tasktest.System) { sys.Write(t, "/etc/x", "old", 0o644) },
			module:  &File{Path: "/etc/x", State: "absent"},
			actions: []string{"/etc/x: remove"},
			kept:    []string{"/etc/x"},
		},
		"through a link": {
			prepare: func(t *testing.T, sys *tasktest.System) {
				sys.Write(t, "/run/real", "old", 0o644)
				symlink(t, sys, "/run/real", "/etc/x")
			},
			module:  &File{Path: "/etc/x", Content: new("new"), Follow: true},
			actions: []string{"/run/real: replace"},
			kept:    []string{"/run/real"},
		},
		"directories": {
			module:  &Directory{Path: "/srv/a/b", Paths: []string{"/srv/c"}, Mode: "0700"},
			actions: []string{"/srv/a/b: create directory", "/srv/c: create directory"},
			kept:    []string{"/srv/a/b", "/srv/c"},
		},
		"file that is there keeps its content": {
			prepare: func(t *testing.T, sys *tasktest.System) { sys.Write(t, "/etc/x", "theirs", 0o644) },
			module:  &File{Path: "/etc/x", State: "file", Mode: "0600"},
			actions: []string{"/etc/x: set mode 0644 -> 0600"},
			kept:    []string{"/etc/x"},
		},
		"missing file with an empty content": {
			module:  &File{Path: "/etc/x", Content: new("")},
			actions: []string{"/etc/x: create"},
			kept:    []string{"/etc/x"},
		},
		"missing file that may be empty": {
			module:  &File{Path: "/etc/x", State: "present"},
			actions: []string{"/etc/x: create"},
			kept:    []string{"/etc/x"},
		},
		"access of whatever is there": {
			prepare: func(t *testing.T, sys *tasktest.System) { sys.Mkdir(t, "/srv/a") },
			module:  &File{Path: "/srv/a", Mode: "0700"},
			actions: []string{"/srv/a: set mode 0755 -> 0700"},
			kept:    []string{"/srv/a"},
		},
		"mode of a directory": {
			prepare: func(t *testing.T, sys *tasktest.System) { sys.Mkdir(t, "/srv/a") },
			module:  &Directory{Path: "/srv/a", Mode: "1777"},
			actions: []string{"/srv/a: set mode 0755 -> 1777"},
			kept:    []string{"/srv/a"},
		},
		"link": {
			module:  &Link{Path: "/etc/l", To: "/etc/x"},
			actions: []string{"/etc/l: link to /etc/x"},
			kept:    []string{"/etc/l"},
		},
		"link with another target": {
			prepare: func(t *testing.T, sys *tasktest.System) { symlink(t, sys, "/etc/y", "/etc/l") },
			module:  &Link{Path: "/etc/l", To: "x"},
			actions: []string{"/etc/l: link to x instead of /etc/y"},
			kept:    []string{"/etc/l"},
		},
		"link instead of a file": {
			prepare: func(t *testing.T, sys *tasktest.System) { sys.Write(t, "/etc/l", "x", 0o644) },
			module:  &Link{Path: "/etc/l", To: "x", Force: true},
			actions: []string{"/etc/l: replace the file by a link to x"},
			kept:    []string{"/etc/l"},
		},
		"file and tree gone": {
			prepare: func(t *testing.T, sys *tasktest.System) {
				sys.Write(t, "/srv/tree/below/x", "x", 0o644)
				sys.Write(t, "/srv/file", "x", 0o644)
			},
			module:  &Absent{Paths: []string{"/srv/tree", "/srv/file", "/srv/never"}},
			actions: []string{"/srv/tree: remove with everything below", "/srv/file: remove"},
			kept:    []string{"/srv/tree/below/x", "/srv/tree/below", "/srv/tree", "/srv/file"},
		},
		"file that its service makes again": {
			prepare: func(t *testing.T, sys *tasktest.System) { sys.Write(t, "/srv/state", "x", 0o600) },
			module:  &Absent{Paths: []string{"/srv/state", "/srv/never"}, Regenerated: true},
			actions: []string{"/srv/state: remove; its service makes it again when it starts"},
			kept:    []string{"/srv/state"},
			states:  []string{"regenerated /srv/state"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sys := tasktest.New(t)
			sys.Mkdir(t, "/etc")
			if tt.prepare != nil {
				tt.prepare(t, sys)
			}
			change := tasktest.Converge(t, sys, tt.module)
			if diff := cmp.Diff(tt.actions, tasktest.Actions(change)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tt.kept, sys.Kept()); diff != "" {
				t.Error("kept:", diff)
			}
			if diff := cmp.Diff(tt.states, sys.States()); diff != "" {
				t.Error("states:", diff)
			}
		})
	}
}

// TestNewParentsHaveTheAccessOfTheDirectory: directories that are made on the way get the
// mode of the directory, those that were there keep theirs.
func TestNewParentsHaveTheAccessOfTheDirectory(t *testing.T) {
	t.Parallel()
	sys := tasktest.New(t)
	sys.Mkdir(t, "/srv")
	tasktest.Converge(t, sys, &Directory{Path: "/srv/a/b/c", Mode: "2750"})
	for path, want := range map[string]string{"/srv": "0755", "/srv/a": "2750", "/srv/a/b": "2750", "/srv/a/b/c": "2750"} {
		info, err := os.Stat(sys.Path(path))
		if err != nil {
			t.Fatal(err)
		}
		if got := hostfile.FormatMode(info.Mode()); got != want {
			t.Errorf("%s has the mode %s, want %s", path, got, want)
		}
	}
}

func symlink(t *testing.T, sys *tasktest.System, to, path string) {
	t.Helper()
	if err := os.Symlink(to, sys.Path(path)); err != nil {
		t.Fatal(err)
	}
}

func TestCheckErrors(t *testing.T) {
	t.Parallel()
	sys := tasktest.New(t)
	sys.Mkdir(t, "/etc/dir")
	sys.Write(t, "/etc/file", "x", 0o644)
	symlink(t, sys, "/etc/file", "/etc/link")
	sys.Mkdir(t, "/srv/disk")
	sys.Mkdir(t, "/srv/a b/one")
	sys.Write(t, "/proc/self/mountinfo", "29 1 8:1 / / rw - ext4 /dev/sda1 rw\n30 29 8:2 / /srv/disk rw - ext4 /dev/sdb1 rw\n"+
		"31 29 0:5 / /srv/a\\040b/one rw - tmpfs tmpfs rw\n32 29 0:6 / /srv/a\\040b/two rw - tmpfs tmpfs rw\n33 29 0:7 / /srv/disks rw - tmpfs tmpfs rw\n", 0o444)
	tests := map[string]struct {
		module engine.Module
		want   string
	}{
		"link":                                {&File{Path: "/etc/link", Content: new("x")}, "symbolic link to /etc/file"},
		"directory":                           {&File{Path: "/etc/dir", Content: new("x")}, "not a regular file but a directory"},
		"no parent":                           {&File{Path: "/none/x", Content: new("x")}, "make it with the directory module first"},
		"a file that has to exist":            {&File{Path: "/etc/cron.allow", Mode: "0600"}, "/etc/cron.allow does not exist, and the task has no content for it; write state: present"},
		"state file":                          {&File{Path: "/etc/cron.allow", State: "file"}, "does not exist"},
		"state file of a directory":           {&File{Path: "/etc/dir", State: "file"}, "not a regular file but a directory"},
		"state touch":                         {&File{Path: "/etc/x", State: "touch"}, "write present"},
		"relative":                            {&File{Path: "etc/x"}, "not absolute"},
		"content and blob":                    {&File{Path: "/etc/x", Content: new("x"), Blob: "y"}, "exclude each other"},
		"state of a directory":                {&File{Path: "/etc/x", State: "directory"}, "write directory instead of file"},
		"mode preserve without a source":      {&File{Path: "/etc/x", Content: new("x"), Mode: "preserve"}, "needs from"},
		"from a missing file":                 {&File{Path: "/etc/x", From: "/none"}, "/none does not exist on the host"},
		"from a directory":                    {&File{Path: "/etc/x", From: "/etc/dir"}, "slash at the end of src"},
		"over a directory":                    {&File{Path: "/etc/file", From: "/etc/dir"}, "not a regular file but a directory"},
		"tree from a missing directory":       {&DirectoryTree{Path: "/etc/t", From: "/none"}, "no such file"},
		"tree entry outside of the directory": {&DirectoryTree{Path: "/etc/t", Entries: []TreeEntry{{Name: "../x"}}}, "leads out of the tree"},
		"tree over a link":                    {&DirectoryTree{Path: "/etc", Entries: []TreeEntry{{Name: "link", Content: "x"}}}, "symbolic link to /etc/file"},
		"state":                               {&File{Path: "/etc/x", State: "gone"}, "want file, present or absent"},
		"mode":                                {&File{Path: "/etc/file", Mode: "rw"}, "octal"},
		"file as directory":                   {&Directory{Path: "/etc/file"}, "not a directory but a regular file"},
		"no path":                             {&Directory{}, "path or paths is missing"},
		"link over file":                      {&Link{Path: "/etc/file", To: "x"}, "force: true"},
		"link over directory":                 {&Link{Path: "/etc/dir", To: "x", Force: true}, "is a directory"},
		"removal of the root directory":       {&Absent{Path: "/"}, "refusing to remove"},
		"removal of a directory of the root":  {&Absent{Path: "/etc"}, "refusing to remove"},
		"removal of a directory of the root, by ../": {&Absent{Path: "/srv/../etc/"}, "refusing to remove"},
		"removal of a mount":                         {&Absent{Path: "/srv/disk/"}, "something is mounted at /srv/disk, and"},
		"removal above mounts":                       {&Absent{Path: "/srv/a b"}, "something is mounted at /srv/a b/one, /srv/a b/two, and"},
		"removal of a directory as regenerated":      {&Absent{Path: "/etc/dir", Regenerated: true}, "/etc/dir is a directory; regenerated is for files"},
		"relative removal":                           {&Absent{Path: "x"}, "not absolute"},
		"nothing":                                    {&Absent{}, "missing"},
	}
	for name, tt := range tests {
		_, _, err := tasktest.Run(t, sys, tt.module)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q", name, err, tt.want)
		}
	}
}

// TestInvalidModeFailsInCheck: the check rejects an invalid mode also when there is no
// file to compare it with.
func TestInvalidModeFailsInCheck(t *testing.T) {
	t.Parallel()
	sys := tasktest.New(t)
	sys.Mkdir(t, "/etc")
	for _, m := range []engine.Module{&File{Path: "/etc/new", Content: new("x"), Mode: "999"}, &Directory{Path: "/etc/new", Mode: "u=rw"}} {
		if _, err := m.Check(t.Context(), sys); err == nil || !strings.Contains(err.Error(), "not an octal number") {
			t.Errorf("%+v: %v", m, err)
		}
	}
}

func TestOutputNamesTheBackupFile(t *testing.T) {
	t.Parallel()
	sys := tasktest.New(t)
	sys.Write(t, "/etc/x", "old", 0o640)
	_, out, err := tasktest.Run(t, sys, &File{Path: "/etc/x", Content: new("new"), Backup: true})
	if err != nil || out["backup_file"] != "/etc/x.test~" || sys.Read(t, "/etc/x.test~") != "old" {
		t.Errorf("%v, %v", out, err)
	}
	_, out, err = tasktest.Run(t, sys, &DirectoryTree{Path: "/etc", Entries: []TreeEntry{{Name: "x", Content: "newer"}, {Name: "y"}}, Backup: true})
	if diff := cmp.Diff(engine.Output{"backup_files": []string{"/etc/x.test~"}}, out); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

// TestCopyOfAFileLargerThanTheReadBuffer compares files that need several reads.
func TestCopyOfAFileLargerThanTheReadBuffer(t *testing.T) {
	t.Parallel()
	sys := tasktest.New(t)
	large := strings.Repeat("0123456789abcde\n", 10_000)
	sys.Write(t, "/a", large, 0o644)
	sys.Write(t, "/b", large[:len(large)-1]+"X", 0o644)
	if change := tasktest.Converge(t, sys, &File{Path: "/b", From: "/a"}); !strings.Contains(change.Effects[0].Diff, "X") {
		t.Errorf("diff of %d bytes", len(change.Effects[0].Diff))
	}
}

func TestBlobIsFetchedOnlyWhenTheFileDiffers(t *testing.T) {
	t.Parallel()
	sys := tasktest.New(t)
	sys.Mkdir(t, "/etc")
	f := &File{Path: "/etc/x", Blob: sys.AddBlob([]byte("\xff\x00binary"))}
	tasktest.Converge(t, sys, f)
	if got := len(sys.Fetched()); got != 1 {
		t.Errorf("%d transfers, want 1", got)
	}
	if got := sys.Read(t, "/etc/x"); got != "\xff\x00binary" {
		t.Errorf("content %q", got)
	}
}

func TestSecretHasNoDiff(t *testing.T) {
	t.Parallel()
	sys := tasktest.New(t)
	sys.Write(t, "/etc/x", "old password", 0o600)
	change := tasktest.Check(t, sys, &File{Path: "/etc/x", Content: new("new password"), Secret: true})
	if e := change.Effects[0]; e.Diff != "" || !e.Secret {
		t.Errorf("effect %+v", e)
	}
	change = tasktest.Check(t, sys, &File{Path: "/etc/x", Content: new("new password")})
	if !strings.Contains(change.Effects[0].Diff, "+new password") {
		t.Errorf("diff %q", change.Effects[0].Diff)
	}
}

func TestValidateCommandRunsBeforeTheFileIsReplaced(t *testing.T) {
	t.Parallel()
	sys := tasktest.New(t)
	sys.Exec = tasktest.RealExec
	sys.Write(t, "/etc/x", "good old", 0o644)
	check := []string{"grep", "-q", "good", "%s"}
	_, _, err := tasktest.Run(t, sys, &File{Path: "/etc/x", Content: new("bad"), Validate: check})
	if err == nil || !strings.Contains(err.Error(), "was not put in place") {
		t.Errorf("error %v", err)
	}
	if got := sys.Read(t, "/etc/x"); got != "good old" {
		t.Errorf("content %q, want the old one", got)
	}
	loud := []string{"sh", "-c", "cat %s >&2; exit 1"}
	_, _, err = tasktest.Run(t, sys, &File{Path: "/etc/x", Content: new("password"), Secret: true, Validate: loud})
	if err == nil || strings.Contains(err.Error(), "password") {
		t.Errorf("error %v: missing, or with the secret in it", err)
	}
	tasktest.Converge(t, sys, &File{Path: "/etc/x", Content: new("good new"), Validate: check})
	if left, err := os.ReadDir(sys.Path("/etc")); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestDryRunAcceptsPathsThatEarlierStepsWouldCreate(t *testing.T) {
	t.Parallel()
	sys := tasktest.New(t)
	for _, m := range []engine.Module{
		&File{Path: "/none/x", Content: new("x"), Owner: "later"},
		&Link{Path: "/none/l", To: "x"},
		&File{Path: "/none/y", From: "/none/x", Mode: "preserve"},
		&DirectoryTree{Path: "/none/t", From: "/none/s"},
		&DirectoryTree{Path: "/none/t", Entries: []TreeEntry{{Name: "a", Dir: true}, {Name: "a/x"}}},
		&Directory{Path: "/none/d", Owner: "later"},
	} {
		if change := tasktest.Check(t, sys, m); !change.Needed {
			t.Errorf("%T: no change", m)
		}
	}
}
