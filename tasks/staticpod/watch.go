package staticpod

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"deployer/engine"
	"deployer/tasks/httpcheck"
)

const (
	// glanceEvery is the interval of the cheap test for changes.
	glanceEvery = 200 * time.Millisecond
	// A query of containerd takes several runs of ctr, about 0.1 s of processor time in
	// all, which matters on a small host that is starting. So a query follows a change,
	// and is repeated after firstPause, which doubles up to lastPause.
	firstPause = 250 * time.Millisecond
	lastPause  = 3 * time.Second
)

// watch queries containerd only when something may have changed.
type watch struct {
	ready    *Ready
	sys      engine.System
	manifest manifest

	before restarts // at the first query
	logs   string   // the pod's log files at the last query
	next   time.Time
	pause  time.Duration
	last   error // of the last query
	// old has the pods that the new one replaces.
	old replacement
}

// try returns nil when the pod runs and answers, and a *httpcheck.PermanentError when
// a longer wait cannot help.
func (w *watch) try(ctx context.Context) error {
	logs := logFiles(w.sys, w.manifest)
	if w.before == nil {
		w.before = restartsOf(logs)
	}
	err := w.checkChanged(ctx, strings.Join(logs, " "))
	if err == nil {
		return nil
	}
	if again := restartsOf(logs).since(w.before); again != nil {
		return &httpcheck.PermanentError{Err: fmt.Errorf("%w: %w", err, again)}
	}
	return err
}

func (w *watch) checkChanged(ctx context.Context, logs string) error {
	// A pod that does not answer needs no query, unless it waits for the end of an
	// older one.
	silent := w.ready.answers(ctx, w.sys)
	if silent != nil && w.old.over {
		return silent
	}
	if w.due(logs) {
		w.look(ctx)
	}
	return cmp.Or(silent, w.last)
}

// due reports whether a query may show anything new: the pod's logs changed, an
// older pod ended, or some time has passed.
func (w *watch) due(logs string) bool {
	if w.last == nil || logs != w.logs {
		w.logs, w.pause = logs, firstPause
		return true
	}
	if len(w.old.pids) > 0 {
		return !w.old.runs(w.sys)
	}
	return !time.Now().Before(w.next)
}

func (w *watch) look(ctx context.Context) {
	c := w.ready.containerd(w.sys)
	seen, err := look(ctx, c, w.manifest)
	if err == nil {
		w.old.follow(w.sys, w.ready.Manifest, seen)
		err = seen.problem(ctx, w.sys, c, w.manifest)
	}
	w.last = err
	w.next = time.Now().Add(w.pause)
	w.pause = min(2*w.pause, lastPause)
}

// replacement is the end of the pods that a new manifest replaces. The kubelet
// starts a static pod only when no other one of that name is left, and after it
// has found one it tries again 10 to 15 s later, although the old pod may have
// ended at once (kubernetes pkg/kubelet, podWorkers.allowPodStart). A manifest that
// is removed and written again is a new event: the kubelet then starts the pod within its next
// round of housekeeping, 2 s. Measured with an empty pod: 3 s instead of 12.
type replacement struct {
	over   bool     // the new pod starts, or there was no old pod
	pids   []string // processes of the old pods at the last query
	nudges int
	again  time.Time // earliest time of the next nudge
}

const (
	// The first nudge may come before the kubelet has removed the old pod; then the kubelet
	// waits as it would without the nudge.
	maxNudges  = 2
	nudgeEvery = 4 * time.Second
)

func (r *replacement) follow(sys engine.System, manifest string, seen podState) {
	r.over = seen.uid != "" || !seen.older || r.nudges == maxNudges
	r.pids = seen.pids
	if r.over || len(seen.pids) > 0 || time.Now().Before(r.again) {
		return
	}
	r.nudges++
	r.again = time.Now().Add(nudgeEvery)
	nudge(sys.Path(manifest))
}

// runs reports whether a process of the old pods still runs.
func (r *replacement) runs(sys engine.System) bool {
	for _, pid := range r.pids {
		if _, err := os.Stat(sys.Path("/proc/" + pid)); err == nil {
			return true
		}
	}
	return false
}

// nudge renames a manifest to a name with a dot, which the kubelet ignores, and back. When the
// agent is killed in between, the next run finds the manifest missing and writes it. Errors
// cost time only, so they are not reported.
func nudge(path string) {
	i := strings.LastIndex(path, "/") + 1
	aside := path[:i] + "." + path[i:]
	if os.Rename(path, aside) == nil {
		_ = os.Rename(aside, path)
	}
}
