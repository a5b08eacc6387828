package staticpod

import (
	"context"
	"strings"
	"time"

	"deployer/engine"
)

const (
	// glanceEvery is the time between two glances, which cost next to nothing.
	glanceEvery = 200 * time.Millisecond
	// A look at containerd costs four short runs of ctr, about 0.1 s of CPU in
	// all; on a small host that is starting everything at once those would be
	// felt. So it is taken when the pod's logs show that something happened, and
	// again after firstPause, doubled up to lastPause.
	firstPause = 250 * time.Millisecond
	lastPause  = 3 * time.Second
)

// watch looks at containerd only when it is worth it.
type watch struct {
	ready    *Ready
	sys      engine.System
	manifest manifest

	logs  string // the pod's log files at the last look
	next  time.Time
	pause time.Duration
	last  error // of the last look
}

func (w *watch) try(ctx context.Context) error {
	if err := w.ready.answers(ctx, w.sys); err != nil {
		return err
	}
	if logs := strings.Join(logFiles(w.sys, w.manifest), " "); w.last == nil || logs != w.logs {
		w.logs, w.pause, w.next = logs, firstPause, time.Time{}
	}
	if time.Now().Before(w.next) {
		return w.last
	}
	w.last = w.ready.runs(ctx, w.sys, w.manifest)
	w.next = time.Now().Add(w.pause)
	w.pause = min(2*w.pause, lastPause)
	return w.last
}
