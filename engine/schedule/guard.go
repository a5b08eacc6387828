package schedule

import (
	"context"
	"fmt"

	"deployer/engine"
)

// newGuards links to those guards of the claim that take no other part.
func (r *run) newGuards() {
	if r.opts.Claim == nil {
		return
	}
	for _, name := range r.opts.Claim.Guards {
		if h := r.byName[name]; h == nil || !r.takesPart(h) {
			r.guards = append(r.guards, r.links.of(r, name))
		}
	}
}

// guard keeps a host connected and locked until the run is over, and takes no
// other part: it is in no play, no budget and no report.
func (l *link) guard(ctx context.Context, over <-chan struct{}) {
	for {
		session, err := l.get(ctx, l.run.stop, l.run.opts.Retry.Attempts)
		if err != nil {
			if l.run.stop.Err() == nil {
				l.run.emit(engine.Event{Type: engine.Warning, Host: l.name,
					Text: fmt.Sprintf("is not locked for this run: %v", err)})
			}
			return
		}
		connection, ok := session.Host.(interface{ Lost() <-chan struct{} })
		if !ok {
			return
		}
		select {
		case <-over:
			return
		case <-l.run.stop.Done():
			return
		case <-connection.Lost():
			l.drop(session)
		}
	}
}
