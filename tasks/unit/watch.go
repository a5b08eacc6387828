package unit

import (
	"fmt"
	"time"
)

// defaultStable is the time that a unit without readiness notification must stay up:
// a process that cannot read its configuration exits sooner.
const defaultStable = time.Second

// maxCrashes is the number of exits after which the wait for a process ends. Some
// processes need others that start beside them, and are up at the second attempt.
const maxCrashes = 3

// watch evaluates the statuses of a unit after its start.
type watch struct {
	before status         // when it was told
	stable *time.Duration // as the user wants it; nil for the default

	seen     bool // one status was observed
	restarts int  // systemd's counter at the first observation
	pid      int  // the process that is up
	since    time.Time
}

// observe evaluates a status at a time. done reports that the unit is up and stable;
// wrong is the reason why it never will be.
func (w *watch) observe(now status, at time.Time) (done bool, wrong string) {
	if !w.seen {
		w.seen, w.restarts = true, now.Restarts
	}
	if now.Restarts < w.restarts { // a start by hand sets the counter to 0
		w.restarts = now.Restarts
	}
	if wrong := w.ended(now); wrong != "" {
		return false, wrong
	}
	switch {
	case now.Active == "inactive": // ended checked that its job is done
		return true, ""
	case !now.up() || w.old(now):
		w.since = time.Time{}
		return false, ""
	case w.since.IsZero() || now.MainPID != w.pid:
		w.pid, w.since = now.MainPID, at
	}
	return at.Sub(w.since) >= w.stableFor(now), ""
}

func (w *watch) ended(now status) string {
	switch {
	case now.Active == "failed", now.Active == "inactive" && now.Result != "success":
		return "failed (" + now.Result + ")"
	case now.Active == "inactive" && now.Type != "oneshot":
		return "ended right after its start, without an error"
	case now.Restarts-w.restarts >= maxCrashes:
		return fmt.Sprintf("ended %d times after its start", now.Restarts-w.restarts)
	}
	return ""
}

// old reports whether the process is the one from before the start.
func (w *watch) old(now status) bool {
	return w.before.up() && now.Invocation == w.before.Invocation && now.Started == w.before.Started && now.MainPID == w.before.MainPID
}

func (w *watch) stableFor(now status) time.Duration {
	if w.stable != nil {
		return *w.stable
	}
	switch now.Type {
	case "simple", "exec", "forking", "idle":
		return defaultStable
	}
	return 0 // units of type notify, dbus and oneshot, and units that are no services, report themselves when they are ready
}
