package schedule

import (
	"context"
	"time"

	"deployer/engine"
)

// How long keeping the pledges of one host may take: less once the user has said
// that nothing is to be waited for.
const (
	keepTime      = 45 * time.Second
	keepTimeHurry = 15 * time.Second
)

// keepPledges closes what actions have opened for a host that leaves the run
// before its end. It comes before the host is parked, so that hosts that wait for
// their turn find it closed.
func (h *host) keepPledges(ctx context.Context) {
	if h.run.opts.Check {
		return
	}
	limit := keepTime
	if ctx.Err() != nil {
		limit = keepTimeHurry
	}
	own, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	for _, pledge := range h.run.pledges.Take(h.name) {
		done, left := pledge.Run(own)
		switch {
		case left != "":
			h.run.leave(h.run.opts.Redactor.Text(left))
			h.run.emit(engine.Event{Type: engine.EventWarning, Host: h.name, Text: left})
		case done != "":
			h.run.emit(engine.Event{Type: engine.EventWarning, Host: h.name, Text: done + ", as the run has left this host before its end"})
		}
	}
}

// leave notes for the report what the run could not close.
func (r *run) leave(text string) {
	r.leftMu.Lock()
	defer r.leftMu.Unlock()
	r.left = append(r.left, text)
}
