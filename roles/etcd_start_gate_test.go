package roles_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var startGate = regexp.MustCompile(`ExecStartPre=\+/bin/sh -c '(set -- [^']*)' sh "([^"]*)"`)

// TestEtcdStartGate runs the first command of etcd's unit: it fails for a host on which a
// member has served and whose log is gone.
func TestEtcdStartGate(t *testing.T) {
	t.Parallel()
	unit := newSite(t, "nginx").files(t, "m1")["/etc/systemd/system/etcd.service"]
	found := startGate.FindStringSubmatch(unit)
	if found == nil || found[2] != "/var/lib/etcd/member/wal" {
		t.Fatalf("no gate for the log in the unit, %q:\n%s", found, unit)
	}
	if strings.Index(unit, found[0]) > strings.Index(unit, "ExecStart=") {
		t.Error("the gate is behind the start")
	}
	for name, tt := range map[string]struct {
		served, dir, log, starts bool
	}{
		"a first start":                      {false, false, false, true},
		"a first start after a killed start": {false, true, false, true},
		"a member with its data":             {true, true, true, true},
		"a member whose data is lost":        {true, false, false, false},
		"a member whose log is lost":         {true, true, false, false},
		"a member that has not served yet":   {false, true, true, true},
	} {
		dir := t.TempDir()
		mark, log := filepath.Join(dir, "etcd-member"), filepath.Join(dir, "wal")
		script := strings.NewReplacer("$$", "$", "/etc/deployer/etcd-member", mark).Replace(found[1])
		if tt.served {
			writeFile(t, mark)
		}
		if tt.dir {
			if err := os.Mkdir(log, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if tt.log {
			writeFile(t, filepath.Join(log, "0-0.wal"))
		}
		out, err := exec.Command("/bin/sh", "-c", script, "sh", log).CombinedOutput()
		if (err == nil) != tt.starts || !tt.starts && !strings.Contains(string(out), "its data is gone") {
			t.Errorf("%s: %v, %s", name, err, out)
		}
	}
}

func writeFile(t *testing.T, file string) {
	t.Helper()
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}
