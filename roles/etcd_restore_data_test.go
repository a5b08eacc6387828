package roles_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRestoreRemovesWhatOthersHavePrepared checks which prepared data and snapshots a restore
// removes, and that a second pass finds nothing to remove.
func TestRestoreRemovesWhatOthersHavePrepared(t *testing.T) {
	script := roleShell(t, "etcd-restore-data/tasks/main.yaml", "remove data and snapshots that other restores, and killed attempts, have prepared")
	for name, c := range map[string]struct {
		keep string // name of the snapshot that is needed
		want []string
	}{
		"the data is not made yet": {"2.db", []string{"data/before-1", "data/member", "data/restored-2", "log/wal", "state/1.bump", "state/2.db"}},
		"the data is made":         {"", []string{"data/before-1", "data/member", "data/restored-2", "log/wal", "state/1.bump"}},
	} {
		t.Run(name, func(t *testing.T) {
			top := t.TempDir()
			for _, dir := range []string{"data/before-1", "data/member", "data/restored-1", "data/restored-2", "data/restoring-1", "log/restored-1", "log/wal", "state"} {
				if err := os.MkdirAll(filepath.Join(top, dir), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			for _, file := range []string{"data/restored-1/member", "state/1.bump", "state/1.db", "state/2.db"} {
				if err := os.WriteFile(filepath.Join(top, file), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			run := func() string {
				cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", strings.ReplaceAll(script, "/var/lib/deployer/etcd-restore", top+"/state"))
				cmd.Env = append(os.Environ(), "ID=2", "KEEP="+c.keep, "DIRS="+top+"/data\n"+top+"/log\n"+top+"/none")
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("%v: %s", err, out)
				}
				return string(out)
			}
			if out := run(); !strings.Contains(out, "restored-1") || !strings.Contains(out, "1.db") {
				t.Errorf("the step does not name what it removes, so it reports no change: %q", out)
			}
			if out := run(); out != "" {
				t.Errorf("a second pass removes %q", out)
			}
			left, err := filepath.Glob(top + "/*/*")
			if err != nil {
				t.Fatal(err)
			}
			for i := range left {
				left[i] = strings.TrimPrefix(left[i], top+"/")
			}
			slices.Sort(left)
			if diff := cmp.Diff(c.want, left); diff != "" {
				t.Error(diff)
			}
		})
	}
}
