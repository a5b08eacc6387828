package remote

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// probeHere runs the second half of the probe on this machine, with the directories
// of root below dir. probeHere returns the directory to which the agent would be
// sent, empty when an existing agent was started, and the directories that were
// skipped.
func probeHere(t *testing.T, dir, first string) (sentTo, output string) {
	t.Helper()
	script := strings.NewReplacer("/var/lib/deployer", dir+"/lib", "~root", dir+"/root", "/run/deployer", dir+"/run").Replace(innerScript)
	digest := map[bool]string{true: agentName, false: "-"}
	cmd := exec.Command("sh", "-c", script, "deployer", script, "marker", "none", digest[runtime.GOARCH == "amd64"], digest[runtime.GOARCH == "arm64"], first, "trust", "1", "")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	_, rest, _ := strings.Cut(string(out), "\ndir=")
	sentTo, _, _ = strings.Cut(rest, "\n")
	return strings.TrimPrefix(sentTo, dir), string(out)
}

// agentName is a file name in the form of an agent's digest.
const agentName = "0000000000000000000000000000000000000000000000000000000000000000"

func makeDir(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

// TestRootKeepsToItsOwnDirectories: the agent of root is never stored below a
// directory in which others could replace it.
func TestRootKeepsToItsOwnDirectories(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Fatal("this test is about root: run it as root")
	}
	for name, tt := range map[string]struct {
		above os.FileMode // of the directory that holds the place that is tried first
		first string
		want  string
	}{
		"parent writable by root only":   {0o755, "/above/agents", "/above/agents/agent"},
		"parent is sticky":               {0o777 | os.ModeSticky, "/above/agents", "/lib/agent"},
		"parent is writable by all":      {0o777, "/above/agents", "/lib/agent"},
		"grandparent is writable by all": {0o777, "/above/between/agents", "/lib/agent"},
		"grandparent is sticky":          {0o777 | os.ModeSticky, "/above/between/agents", "/above/between/agents/agent"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			makeDir(t, dir+filepath.Dir(tt.first), 0o755)
			makeDir(t, dir+"/above", tt.above)
			if got, out := probeHere(t, dir, dir+tt.first); got != tt.want {
				t.Errorf("it goes to %q, want %s: %s", got, tt.want, out)
			}
		})
	}
	t.Run("somebody's", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		makeDir(t, dir+"/home", 0o755)
		if err := os.Chown(dir+"/home", 1234, 1234); err != nil {
			t.Fatal(err)
		}
		if got, out := probeHere(t, dir, dir+"/home/agents"); got != "/lib/agent" {
			t.Errorf("it goes to %q: %s", got, out)
		}
	})
	for _, place := range []string{"/tmp", "/dev/shm"} {
		if root, _, _ := strings.Cut(innerScript, "; else s=; set --"); strings.Contains(root[strings.Index(root, "s=/var/lib/deployer; set --"):], place) {
			t.Errorf("root's agent may go below %s", place)
		}
	}
}

// TestPlantedAgentIsNotStarted: an agent is started by its name only from a directory
// to which nobody else can have written.
func TestPlantedAgentIsNotStarted(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		place, agent os.FileMode
		started      bool
	}{
		"directory of root only":                     {0o700, 0o700, true},
		"parent of the directory is writable by all": {0o777, 0o700, false},
		"directory is writable by all":               {0o700, 0o777, false},
		"directory is writable by a group":           {0o700, 0o770, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			makeDir(t, dir+"/own/agent", tt.agent)
			makeDir(t, dir+"/own", tt.place)
			if err := os.WriteFile(dir+"/own/agent/"+agentName, []byte("#!/bin/sh\necho started\n"), 0o755); err != nil {
				t.Fatal(err)
			}
			sentTo, out := probeHere(t, dir, dir+"/own")
			if started := strings.Contains(out, "\nstarted\n"); started != tt.started || (sentTo == "/own/agent") == tt.started {
				t.Errorf("started %t, sent to %q; want started %t: %s", started, sentTo, tt.started, out)
			}
			for _, path := range []string{"/own", "/own/agent"} {
				if info, err := os.Stat(dir + path); err != nil || info.Mode().Perm() != 0o700 {
					t.Errorf("%s: %v, %v", path, info.Mode(), err)
				}
			}
		})
	}
}
