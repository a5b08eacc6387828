package staticpod

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"deployer/tasks/httpcheck"
	"deployer/tasks/tasktest"
)

// TestManifestIsRewrittenWhenTheKubeletMissesIt goes through a replacement: the old pod
// runs, ends, and the new pod starts. The manifest is removed and written again only
// between the last two, also when the health of the pod is checked.
func TestManifestIsRewrittenWhenTheKubeletMissesIt(t *testing.T) {
	t.Parallel()
	sys, k := host(t)
	writeManifest(t, sys, "new")
	sys.Mkdir(t, "/proc/41")
	r := &Ready{Manifest: manifestPath, Health: &httpcheck.HTTP{URL: "http://127.0.0.1:1/"}}
	m, err := r.read(sys)
	if err != nil {
		t.Fatal(err)
	}
	w := &watch{ready: r, sys: sys, manifest: m}
	step := func(name string, nudges int, over bool) {
		t.Helper()
		w.next, w.old.again = time.Time{}, time.Time{}
		if err := w.try(t.Context()); err == nil {
			t.Fatalf("%s: ready, although it does not answer", name)
		}
		if w.old.nudges != nudges || w.old.over != over {
			t.Errorf("%s: %d nudges, over %t; want %d and %t", name, w.old.nudges, w.old.over, nudges, over)
		}
	}
	k.set(pod{"u0", "old", "RUNNING"})
	step("the old pod runs", 0, false)
	_ = sys.Ran()
	step("it still runs", 0, false)
	if got := len(sys.Ran()); got != 0 {
		t.Errorf("%d runs of ctr while the old process is there, want 0", got)
	}
	k.set(pod{"u0", "old", "STOPPED"})
	if err := os.Remove(sys.Path("/proc/41")); err != nil {
		t.Fatal(err)
	}
	before := changed(t, sys)
	step("it ended", 1, false)
	if after := changed(t, sys); after == before {
		t.Error("the manifest was not touched")
	}
	k.set(pod{"u0", "old", "STOPPED"}, pod{"u1", "new", "CREATED"})
	step("the new one comes", 1, true)
	if left, err := filepath.Glob(filepath.Dir(sys.Path(manifestPath)) + "/.*"); err != nil || len(left) > 0 {
		t.Errorf("left beside the manifest: %v, %v", left, err)
	}
}

// changed returns the time of the last change of the manifest's name.
func changed(t *testing.T, sys *tasktest.System) syscall.Timespec {
	t.Helper()
	var st syscall.Stat_t
	if err := syscall.Stat(sys.Path(manifestPath), &st); err != nil {
		t.Fatal(err)
	}
	return st.Ctim
}

func TestManifestIsNotRewrittenWithoutAnOldPod(t *testing.T) {
	t.Parallel()
	for name, pods := range map[string][]pod{
		"first start": nil,
		"new one":     {{"u1", "new", "CREATED"}},
		"beside old":  {{"u0", "old", "STOPPED"}, {"u1", "new", "CREATED"}},
	} {
		sys, k := host(t)
		writeManifest(t, sys, "new")
		k.set(pods...)
		r := &Ready{Manifest: manifestPath}
		m, err := r.read(sys)
		if err != nil {
			t.Fatal(err)
		}
		w := &watch{ready: r, sys: sys, manifest: m}
		_ = w.try(t.Context())
		if w.old.nudges != 0 || !w.old.over {
			t.Errorf("%s: %d nudges, over %t", name, w.old.nudges, w.old.over)
		}
	}
}

func TestManifestIsRewrittenAtMostTwice(t *testing.T) {
	t.Parallel()
	sys, _ := host(t)
	var r replacement
	for range 5 {
		r.again = time.Time{}
		r.follow(sys, manifestPath, podState{older: true})
	}
	if r.nudges != maxNudges || !r.over {
		t.Errorf("%d nudges, over %t", r.nudges, r.over)
	}
}
