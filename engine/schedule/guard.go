package schedule

import (
	"context"
	"fmt"

	"deployer/engine"
)

// newGuards makes hosts of those guards of the claim that take no other part.
func (r *run) newGuards() {
	if r.opts.Claim == nil {
		return
	}
	for _, name := range r.opts.Claim.Guards {
		if h := r.byName[name]; h == nil || !r.takesPart(h) {
			r.guards = append(r.guards, newHost(r, len(r.hosts)+len(r.guards), name, nil))
		}
	}
}

// guard keeps a host connected and locked until the run is over, and takes no
// other part: it is in no play, no budget and no report.
func (h *host) guard(ctx context.Context, over <-chan struct{}) {
	for {
		if err := h.connect(ctx, h.run.opts.Retry.Attempts); err != nil {
			if h.run.stop.Err() == nil {
				h.run.emit(engine.Event{Type: engine.Warning, Host: h.name,
					Text: fmt.Sprintf("is not locked for this run: %v", err)})
			}
			return
		}
		session, ok := h.live().(interface{ Lost() <-chan struct{} })
		if !ok {
			return
		}
		select {
		case <-over:
			return
		case <-h.run.stop.Done():
			return
		case <-session.Lost():
			h.close()
		}
	}
}
