package staticpod

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"deployer/tasks/tasktest"
)

const configPath = "/etc/kubernetes/proxy/nginx.conf"

// process writes the state of a process; start is in ticks since boot.
func process(t *testing.T, sys *tasktest.System, pid, parent, start int) {
	t.Helper()
	// The name of a program may look like the fields behind it.
	sys.Write(t, fmt.Sprintf("/proc/%d/stat", pid), fmt.Sprintf("%d (ng) x 1) S %d %s %d 0\n", pid, parent, strings.TrimSpace(strings.Repeat("0 ", 17)), start), 0o644)
}

// proxied returns a host whose pod runs with one worker, and whose configuration is an
// hour older than the container.
func proxied(t *testing.T) (*tasktest.System, *kubelet) {
	t.Helper()
	sys, k := host(t)
	writeManifest(t, sys, "new")
	k.set(pod{"u1", "new", "RUNNING"})
	k.created = time.Now().Add(-time.Minute)
	process(t, sys, 42, 1, 100)
	process(t, sys, 43, 42, 101)
	writeConfig(t, sys, "old")
	past := time.Now().Add(-time.Hour)
	if err := os.Chtimes(sys.Path(configPath), past, past); err != nil {
		t.Fatal(err)
	}
	return sys, k
}

func writeConfig(t *testing.T, sys *tasktest.System, content string) {
	t.Helper()
	sys.Write(t, configPath, content, 0o644)
}

func newReload() *Reload {
	return &Reload{Manifest: manifestPath, Files: []string{configPath}, Timeout: 2 * time.Second}
}

func TestReloadIsNeededOnce(t *testing.T) {
	t.Parallel()
	sys, k := proxied(t)
	if tasktest.Check(t, sys, newReload()).Needed {
		t.Error("a container that started after its files changed is reloaded")
	}
	writeConfig(t, sys, "changed")
	change := tasktest.Check(t, sys, newReload())
	if !change.Needed || len(change.Effects) != 1 || !strings.Contains(change.Effects[0].Reason, configPath) {
		t.Fatalf("change %+v, want a reload that names %s", change, configPath)
	}
	var sent string
	k.signal = func(args string) { sent = args; process(t, sys, 50, 42, 900) }
	if _, err := newReload().Apply(t.Context(), sys, change); err != nil {
		t.Fatal(err)
	}
	if want := "tasks kill --signal SIGHUP container-u1"; sent != want {
		t.Errorf("ran %q, want %q", sent, want)
	}
	if tasktest.Check(t, sys, newReload()).Needed {
		t.Error("the configuration that was just read is read again")
	}
	// A restored file has the content that the process had at its start, not the one
	// that it has read since.
	writeConfig(t, sys, "old")
	past := time.Now().Add(-time.Hour)
	if err := os.Chtimes(sys.Path(configPath), past, past); err != nil {
		t.Fatal(err)
	}
	if !tasktest.Check(t, sys, newReload()).Needed {
		t.Error("a restored file with an old time is not read again")
	}
}

func TestReloadWithoutNewWorkersFails(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		signal func(*testing.T, *tasktest.System)
		want   string
	}{
		"configuration refused": {func(*testing.T, *tasktest.System) {}, "keeps the old one"},
		"worker ends at once": {func(t *testing.T, sys *tasktest.System) {
			process(t, sys, 50, 42, 900)
			time.AfterFunc(workerStays/2, func() { _ = os.RemoveAll(sys.Path("/proc/50")) })
		}, "has started no worker process"},
		"main process ends":        {func(_ *testing.T, sys *tasktest.System) { _ = os.RemoveAll(sys.Path("/proc/42")) }, "main process 42 has ended"},
		"child of another process": {func(t *testing.T, sys *tasktest.System) { process(t, sys, 50, 41, 900) }, "has started no worker process"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sys, k := proxied(t)
			writeConfig(t, sys, "changed")
			k.signal = func(string) { tt.signal(t, sys) }
			r := newReload()
			_, err := r.Apply(t.Context(), sys, tasktest.Check(t, sys, r))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
			if !tasktest.Check(t, sys, r).Needed {
				t.Error("the next run does not try again")
			}
		})
	}
}

func TestReloadWithoutPod(t *testing.T) {
	t.Parallel()
	sys, k := proxied(t)
	writeConfig(t, sys, "changed")
	k.set(pod{"u0", "old", "RUNNING"})
	if tasktest.Check(t, sys, newReload()).Needed {
		t.Error("a pod of an older manifest is reloaded, which ends anyway")
	}
	if _, err := newReload().Check(t.Context(), tasktest.New(t)); err == nil {
		t.Error("a missing manifest is no error")
	}
	if gate := newReload().Gate().(*Reload); tasktest.Check(t, tasktest.New(t), gate).Needed {
		t.Error("the gate of a revert reloads a pod that is gone")
	}
}

func TestReloadArguments(t *testing.T) {
	t.Parallel()
	for want, r := range map[string]*Reload{
		`path "m" is not absolute`:             {Manifest: "m", Files: []string{"/c"}},
		`path "c" is not absolute`:             {Manifest: "/m", Files: []string{"c"}},
		`signal "KILL" is none of HUP, USR1, `: {Manifest: "/m", Files: []string{"/c"}, Signal: "KILL"},
	} {
		if _, err := r.Check(t.Context(), tasktest.New(t)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v, want %q", r, err, want)
		}
	}
}
