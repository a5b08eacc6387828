package schedule

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"deployer/engine"
)

// connectGuards adds connections to the guards that are not hosts of the run.
func (r *run) connectGuards() {
	if r.opts.Lock == nil {
		return
	}
	for _, name := range r.opts.Lock.Guards {
		if h := r.byName[name]; h == nil || !r.takesPart(h) {
			r.guards = append(r.guards, r.connections.host(r, name))
		}
	}
}

// isGuard reports whether the machine is a guard of the lock.
func (r *run) isGuard(l *connection) bool {
	return r.opts.Lock != nil && slices.Contains(r.opts.Lock.Guards, l.name)
}

// holdLock keeps a guard connected and locked until the run has ended. A guard that no play
// names is in no budget and no report. A guard that is a host of the run is held after its
// own work.
func (l *connection) holdLock(ctx context.Context, over <-chan struct{}) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		select {
		case <-over:
			stop() // nobody waits for a connection then
		case <-ctx.Done():
		}
	}()
	for attempts := l.run.opts.Retry.Attempts; ; attempts = l.run.opts.Retry.Reattempts {
		session, err := l.get(ctx, l.run.stop, attempts)
		if err != nil {
			if l.run.stop.Err() == nil && ctx.Err() == nil {
				l.run.lock.loseGuard(l, err)
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

// loseGuard records that a guard cannot be locked any more. Without a majority of the
// guards the run must stop: another run could lock them and change the same cluster.
func (c *runLock) loseGuard(l *connection, why error) {
	c.run.emit(engine.Event{Type: engine.EventWarning, Host: l.name, Text: fmt.Sprintf("is not locked for this run: %v", why)})
	c.mu.Lock()
	if c.lostGuards == nil {
		c.lostGuards = map[string]bool{}
	}
	c.lostGuards[l.name] = true
	c.mu.Unlock()
	c.checkMajority()
}

// checkMajority aborts the run when it has lost the majority of its guards.
func (c *runLock) checkMajority() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if left := len(c.Guards) - len(c.lostGuards); !c.hasMajority || 2*left > len(c.Guards) {
		return
	}
	c.run.abort(fmt.Errorf("stopped: %d of %d masters (%s) can no longer be reached and locked, so that another run could change this cluster meanwhile; bring them back and run the same command again, or lock only the hosts of this run with --lock hosts",
		len(c.lostGuards), len(c.Guards), listed(slices.Sorted(maps.Keys(c.lostGuards)))))
}
