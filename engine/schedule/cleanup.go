package schedule

import (
	"context"
	"time"

	"deployer/engine"
)

// Maximum duration of the cleanups of one host: cleanupTimeout as a rule,
// interruptedCleanupTimeout after the user has stopped the run at once.
const (
	cleanupTimeout            = 45 * time.Second
	interruptedCleanupTimeout = 15 * time.Second
)

// runCleanups runs the cleanups of a host that leaves the run before its end. runCleanups must be
// called before the host is parked, so that hosts that wait for their turn find the states
// ended.
func (h *host) runCleanups(ctx context.Context) {
	if h.run.opts.CheckOnly {
		return
	}
	limit := cleanupTimeout
	if ctx.Err() != nil {
		limit = interruptedCleanupTimeout
	}
	own, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	for _, cleanup := range h.run.cleanups.Take(h.name) {
		done, left := cleanup.Run(own)
		switch {
		case left != "":
			h.run.noteLeftOpen(h.run.opts.Redactor.Text(left))
			h.run.emit(engine.Event{Type: engine.EventWarning, Host: h.name, Text: left})
		case done != "":
			h.run.emit(engine.Event{Type: engine.EventWarning, Host: h.name, Text: done + ", because this host left the run before its end"})
		}
	}
}

// noteLeftOpen records, for the report, a state that no cleanup could end.
func (r *run) noteLeftOpen(text string) {
	r.leftOpenMu.Lock()
	defer r.leftOpenMu.Unlock()
	r.leftOpen = append(r.leftOpen, text)
}
