package mount

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
	"deployer/tasks/tasktest"
)

const rootLine = "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw,errors=remount-ro\n"

// host returns a host with a fake kernel that mounts the entries of /etc/fstab.
func host(t *testing.T, table, info string) *tasktest.System {
	t.Helper()
	sys := tasktest.New(t)
	sys.Write(t, "/etc/fstab", table, 0o640)
	sys.Write(t, "/proc/self/mountinfo", rootLine+info, 0o644)
	sys.Write(t, "/dev/sdb1", "", 0o644)
	sys.Write(t, "/dev/sdc1", "", 0o644)
	sys.Mkdir(t, "/dev/disk/by-uuid")
	if err := os.Symlink("../../sdb1", sys.Path("/dev/disk/by-uuid/ab-12")); err != nil {
		t.Fatal(err)
	}
	sys.Exec = func(_ context.Context, cmd engine.Command) (engine.CommandResult, error) {
		info := sys.Read(t, "/proc/self/mountinfo")
		path := cmd.Argv[len(cmd.Argv)-1]
		switch cmd.Argv[0] {
		case "systemctl":
			return engine.CommandResult{}, nil
		case "umount":
			info = unmounted(info, path)
		case "mount": // or remount: by the table in both cases
			if strings.Contains(strings.Join(cmd.Argv, " "), "remount") {
				info = unmounted(info, path)
			}
			info += kernelLine(sys, t, path)
		}
		sys.Write(t, "/proc/self/mountinfo", info, 0o644)
		return engine.CommandResult{}, nil
	}
	return sys
}

func unmounted(info, path string) string {
	var b strings.Builder
	for text := range strings.Lines(info) {
		if !strings.Contains(text, " / "+escaper.Replace(path)+" ") {
			b.WriteString(text)
		}
	}
	return b.String()
}

func kernelLine(sys *tasktest.System, t *testing.T, path string) string {
	for text := range strings.Lines(sys.Read(t, "/etc/fstab")) {
		if l, ok := parse(text); ok && l.path == path {
			if device := deviceOf(l.src); device == "/dev/disk/by-uuid/ab-12" {
				l.src = "/dev/sdb1"
			}
			return "9 1 8:9 / " + escaper.Replace(path) + " " + strings.ReplaceAll(l.opts, "defaults", "rw") + " - " + l.fstype + " " + l.src + " rw\n"
		}
	}
	return ""
}

func TestMountIsIdempotent(t *testing.T) {
	t.Parallel()
	const head = "# disks of the host\nUUID=root /  ext4 errors=remount-ro 0 1\n"
	data := "30 22 8:17 / /data rw,noatime - ext4 /dev/sdb1 rw\n"
	tests := map[string]struct {
		table, info string
		module      Mount
		want        string // of /etc/fstab
		actions     []string
	}{
		"new": {
			head, "", Mount{Path: "/data", Src: "UUID=ab-12", Fstype: "ext4", Opts: "noatime", Passno: 2},
			head + "UUID=ab-12 /data ext4 noatime 0 2\n",
			[]string{"/data: create directory", "/etc/fstab: replace", "/data: mount"},
		},
		"with a blank": {
			head, "", Mount{Path: "/my data", Src: "/dev/sdb1", Fstype: "ext4"},
			head + `/dev/sdb1 /my\040data ext4 defaults 0 0` + "\n",
			[]string{"/my data: create directory", "/etc/fstab: replace", "/my data: mount"},
		},
		"not mounted": {
			head + "UUID=ab-12   /data\text4  defaults\n", "", Mount{Path: "/data", Src: "UUID=ab-12", Fstype: "ext4"},
			head + "UUID=ab-12   /data\text4  defaults\n", []string{"/data: create directory", "/data: mount"},
		},
		"not in the table": {
			head, data, Mount{Path: "/data", Src: "UUID=ab-12", Fstype: "ext4", Opts: "noatime"},
			head + "UUID=ab-12 /data ext4 noatime 0 0\n",
			[]string{"/data: create directory", "/etc/fstab: replace", "/data: mount again with other options"},
		},
		"other options": {
			"/dev/sdb1 /data ext4 noatime,nosuid\n# end\n", data, Mount{Path: "/data", Src: "/dev/sdb1", Fstype: "ext4", Opts: "noatime,nosuid"},
			"/dev/sdb1 /data ext4 noatime,nosuid\n# end\n", []string{"/data: create directory", "/data: mount again with other options"},
		},
		"another device": {
			"/dev/sdb1 /data ext4 defaults\n/dev/sdx /data ext4 defaults\n", data, Mount{Path: "/data", Src: "/dev/sdc1", Fstype: "ext4"},
			"/dev/sdc1 /data ext4 defaults 0 0\n", []string{"/data: create directory", "/etc/fstab: replace", "/data: unmount what is there, and mount"},
		},
		"in the table only": {
			"no newline", data, Mount{Path: "/later", Src: "nas:/x", Fstype: "nfs", State: "present"},
			"no newline\nnas:/x /later nfs defaults 0 0\n", []string{"/etc/fstab: replace"},
		},
		"unmounted": {
			head + "/dev/sdb1 /data ext4\n", data, Mount{Path: "/data", State: "unmounted"},
			head + "/dev/sdb1 /data ext4\n", []string{"/data: unmount"},
		},
		"absent": {
			head + "/dev/sdb1 /data ext4\n# end\n", data, Mount{Path: "/data", State: "absent"},
			head + "# end\n", []string{"/etc/fstab: replace", "/data: unmount"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sys := host(t, tt.table, tt.info)
			change := tasktest.Converge(t, sys, &tt.module)
			if diff := cmp.Diff(tt.actions, tasktest.Actions(change)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tt.want, sys.Read(t, "/etc/fstab")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestMountedAsWanted(t *testing.T) {
	t.Parallel()
	sys := host(t, "", "")
	sys.Mkdir(t, "/srv/www")
	if err := os.Symlink("/srv/www", sys.Path("/elsewhere")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("www", sys.Path("/srv/same")); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		line line
		now  present
		want bool
	}{
		"uuid":           {line{src: `UUID="ab-12"`, fstype: "ext4"}, present{source: "/dev/sdb1", fstype: "ext4"}, true},
		"other device":   {line{src: "UUID=ab-12", fstype: "ext4"}, present{source: "/dev/sdc1", fstype: "ext4"}, false},
		"unknown uuid":   {line{src: "UUID=x", fstype: "ext4"}, present{source: "/dev/sdc1", fstype: "ext4"}, false},
		"auto":           {line{src: "/dev/sdb1", fstype: "auto"}, present{source: "/dev/sdb1", fstype: "xfs"}, true},
		"other kind":     {line{src: "/dev/sdb1", fstype: "xfs"}, present{source: "/dev/sdb1", fstype: "ext4"}, false},
		"tmpfs":          {line{src: "tmpfs", fstype: "tmpfs"}, present{source: "whatever", fstype: "tmpfs"}, true},
		"nfs":            {line{src: "nas:/x/", fstype: "nfs"}, present{source: "nas:/x", fstype: "nfs4"}, true},
		"other nfs":      {line{src: "nas:/y", fstype: "nfs"}, present{source: "nas:/x", fstype: "nfs4"}, false},
		"bind":           {line{src: "/srv/www", path: "/srv/same", fstype: "none", opts: "bind"}, present{source: "/dev/sda1", fstype: "ext4"}, true},
		"another bind":   {line{src: "/srv", path: "/srv/same", fstype: "none", opts: "bind"}, present{source: "/dev/sda1", fstype: "ext4"}, false},
		"bind of a file": {line{src: "/none", path: "/srv/same", fstype: "none", opts: "bind"}, present{}, false},
	} {
		if got := tt.line.mountedAs(sys, tt.now); got != tt.want {
			t.Errorf("%s: %t, want %t", name, got, tt.want)
		}
	}
	for want, have := range map[string]string{
		"defaults": "rw,relatime", "noatime": "rw,noatime", "ro,noexec": "ro,noexec,relatime", "rw,exec,size=1g": "rw,relatime,size=1048576k",
	} {
		if !(present{options: have}).hasOptions(want) {
			t.Errorf("%s is not seen in %s", want, have)
		}
	}
	for want, have := range map[string]string{"ro": "rw", "rw": "ro", "nodev": "rw,nosuid", "suid": "rw,nosuid"} {
		if (present{options: have}).hasOptions(want) {
			t.Errorf("%s is seen in %s", want, have)
		}
	}
}

// TestBindMountIsRemountedWithBind: a remount without bind would make the whole file
// system read-only.
func TestBindMountIsRemountedWithBind(t *testing.T) {
	t.Parallel()
	for opts, want := range map[string]string{"bind,ro": "remount,bind,ro", "rbind": "remount,bind", "noatime": "remount", "": "remount"} {
		if got := (&Mount{Opts: opts}).remount(); got != want {
			t.Errorf("%q: told to %s, want %s", opts, got, want)
		}
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	sys := host(t, "", "")
	for want, m := range map[string]*Mount{
		"not absolute and clean":         {Path: "data"},
		"refusing to unmount /":          {Path: "/", State: "absent"},
		"src and fstype are required":    {Path: "/data", Src: "/dev/sdb1"},
		"cannot contain line feeds or #": {Path: "/data", Src: "/dev/sdb1\n/dev/sdc1 / ext4", Fstype: "ext4"},
	} {
		if _, _, err := tasktest.Run(t, sys, m); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	sys.Exec = tasktest.Script(map[string]tasktest.Answer{"mount": {}})
	_, _, err := tasktest.Run(t, sys, &Mount{Path: "/data", Src: "/dev/sdb1", Fstype: "ext4"})
	if err == nil || !strings.Contains(err.Error(), "the commands succeeded, but /data still needs to mount") {
		t.Errorf("a mount that does nothing: %v", err)
	}
	if got := sys.Read(t, "/etc/fstab"); got != "" {
		t.Errorf("a line that cannot be mounted is left for the next boot: %q", got)
	}
}

func TestRestorer(t *testing.T) {
	t.Parallel()
	sys := host(t, "", "30 22 8:17 / /data rw,noatime - ext4 /dev/sdb1 rw\n")
	if _, _, err := tasktest.Run(t, sys, &Mount{Path: "/data", State: "unmounted"}); err != nil {
		t.Fatal(err)
	}
	was := engine.State{"source": "/dev/sdb1", "root": "/", "fstype": "ext4", "options": "rw,noatime", "super": "rw"}
	if diff := cmp.Diff([]string{"mount /data: fstype=ext4 options=rw,noatime root=/ source=/dev/sdb1 super=rw"}, sys.States()); diff != "" {
		t.Error(diff)
	}
	sys.Ran()
	for _, step := range []struct {
		now, to engine.State
		want    []string
	}{
		{nil, was, []string{"mount -t ext4 -o rw,noatime,rw /dev/sdb1 /data"}},
		{engine.State{"source": "/dev/sdb1", "root": "/", "options": "ro", "super": "rw"}, was, []string{"mount -o remount,bind,rw,noatime /data"}},
		{engine.State{"source": "/dev/sdb1", "root": "/", "options": "rw,noatime", "super": "rw,size=1"}, was, []string{"mount -o remount,rw /data"}},
	} {
		if err := Restorer.Restore(t.Context(), sys, "/data", step.now, step.to); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(step.want, sys.Ran()); diff != "" {
			t.Error(diff)
		}
	}
	sys.Exec = tasktest.Script(map[string]tasktest.Answer{"umount /data": {}})
	if err := Restorer.Restore(t.Context(), sys, "/data", was, nil); err != nil {
		t.Error(err)
	}
	_, stays := errors.AsType[*engine.IrreversibleError](Restorer.Restore(t.Context(), sys, "/data", nil, engine.State{"source": "/dev/sda1", "root": "/srv"}))
	if !stays {
		t.Error("a bind mount is mounted as a device")
	}
}

func FuzzTable(f *testing.F) {
	f.Add("# x\nUUID=1 / ext4 defaults 0 1\n", "/data")
	f.Add(`a /my\040data b`, "/my data")
	f.Fuzz(func(t *testing.T, table, path string) {
		if strings.ContainsAny(path, "\n#") || path == "" {
			return
		}
		want := line{src: "x", path: path, fstype: "ext4", opts: "defaults"}
		once := withLine(table, want)
		if twice := withLine(once, want); twice != once {
			t.Errorf("not settled: %q, then %q", once, twice)
		}
		if gone := withoutLine(once, path); withoutLine(gone, path) != gone {
			t.Errorf("not gone from %q", gone)
		}
	})
}
