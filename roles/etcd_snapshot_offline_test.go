package roles_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestOfflineSnapshotFollowsNoLinkOfEtcd: the process that serves the copy of a member's data
// runs as root. A link that etcd's user has put into the data is refused, and its target
// stays unchanged.
func TestOfflineSnapshotFollowsNoLinkOfEtcd(t *testing.T) {
	script := roleShell(t, "etcd-snapshot-offline/tasks/main.yaml", "a copy of the data is served")
	for name, tt := range map[string]struct {
		link  string // path of a link to the victim; empty for none
		log   string // directory of the log
		wrong bool
	}{
		"plain data":                      {"", "data/member/wal", false},
		"plain data and a log of its own": {"", "log/wal", false},
		"the database":                    {"data/member/snap/db", "data/member/wal", true},
		"a file of the log":               {"data/member/wal/0.wal", "data/member/wal", true},
		"the log":                         {"data/member/wal", "data/member/wal", true},
		"the whole data":                  {"data/member", "data/member/wal", true},
		"the whole data, log of its own":  {"data/member", "log/wal", true},
		"a log of its own":                {"log/wal", "log/wal", true},
		"a file that is new":              {"data/member/snap/more", "data/member/wal", true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			data, victim := filepath.Join(dir, "data"), filepath.Join(dir, "victim")
			for path, content := range map[string]string{"data/member/snap/db": "data", "data/member/wal/0.wal": "log", "log/wal/0.wal": "log", "victim/wal/0.wal": "victim", "victim/snap/db": "victim"} {
				if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, path)), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, path), []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if tt.link != "" {
				if err := os.RemoveAll(filepath.Join(dir, tt.link)); err != nil {
					t.Fatal(err)
				}
				if err := os.Symlink(victim, filepath.Join(dir, tt.link)); err != nil {
					t.Fatal(err)
				}
			}
			bin, started := filepath.Join(dir, "bin"), filepath.Join(dir, "started")
			if err := os.Mkdir(bin, 0o700); err != nil {
				t.Fatal(err)
			}
			for program, text := range map[string]string{"systemctl": "", "etcdctl": "", "systemd-run": "echo \"$@\" > " + started + "\n"} {
				if err := os.WriteFile(filepath.Join(bin, program), []byte("#!/bin/sh\n"+text), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			text := strings.NewReplacer("/usr/local/bin/etcdctl", filepath.Join(bin, "etcdctl"), "512 * 1024", "1").Replace(script)
			cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", text)
			cmd.Env = []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "COPY=" + dir + "/copy", "DATA=" + data, "LOG=" + filepath.Join(dir, tt.log), "NAME=m1"}
			out, err := cmd.CombinedOutput()
			if (err != nil) != tt.wrong || tt.wrong && !strings.Contains(string(out), "neither a file nor a directory") {
				t.Errorf("%v: %s", err, out)
			}
			for _, file := range []string{"wal/0.wal", "snap/db"} {
				if content, err := os.ReadFile(filepath.Join(victim, file)); string(content) != "victim" {
					t.Errorf("the victim's %s has changed: %q, %v", file, content, err)
				}
			}
			if _, err := os.Stat(started); (err == nil) == tt.wrong {
				t.Errorf("the process was started: %t", err == nil)
			}
		})
	}
}
