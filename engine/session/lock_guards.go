package session

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"deployer/engine"
	"deployer/shortlist"
)

// maxNamed is the maximum number of guards that an error names.
const maxNamed = 5

// HoldGuards keeps the guards that are not hosts of the run connected and locked until
// EndLock.
func (ls *Connections) HoldGuards(ctx context.Context) {
	for _, l := range ls.guards {
		ls.held.Go(func() { l.holdLock(ctx, ls.over) })
	}
}

// HoldIfGuard keeps a host of the run, whose own work has ended, connected and locked until
// EndLock, if the host is a guard.
func (ls *Connections) HoldIfGuard(ctx context.Context, l *Connection) {
	if ls.opts.Lock != nil && slices.Contains(ls.opts.Lock.Guards, l.name) {
		ls.held.Go(func() { l.holdLock(ctx, ls.over) })
	}
}

// EndLock stops holding the guards, and waits for the locking. The machines are unlocked
// when their sessions end. EndLock is called once, when all hosts have ended their work.
func (ls *Connections) EndLock() {
	close(ls.over)
	ls.held.Wait()
	ls.lock.close()
}

// holdLock keeps a guard connected and locked until the run has ended. A guard that no play
// names is in no budget and no report. A guard that is a host of the run is held after its
// own work.
func (l *Connection) holdLock(ctx context.Context, over <-chan struct{}) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		select {
		case <-over:
			stop() // nobody waits for a connection then
		case <-ctx.Done():
		}
	}()
	reconnected := func() {}
	for attempts := l.run.opts.Retry.Attempts; ; attempts = l.run.opts.Retry.Reattempts {
		session, err := l.Get(ctx, l.run.opts.Stop, attempts)
		if err != nil && l.run.opts.Stop.Err() == nil && ctx.Err() == nil {
			l.run.lock.loseGuard(l, err)
		}
		reconnected()
		if err != nil {
			return
		}
		n, ok := session.(LossNotifier)
		if !ok {
			return
		}
		select {
		case <-over:
			return
		case <-l.run.opts.Stop.Done():
			return
		case <-n.Lost():
			reconnected = l.Reconnecting()
			l.Drop(session)
		}
	}
}

// loseGuard records that a guard cannot be locked any more. Without a majority of the
// guards the run must stop: another run could lock them and change the same cluster.
func (c *runLock) loseGuard(l *Connection, why error) {
	c.opts.Emit(engine.Event{Type: engine.EventWarning, Host: l.name, Text: fmt.Sprintf("is not locked for this run: %v", why)})
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
	c.opts.Abort(fmt.Errorf("stopped: %d of %d %s (%s) can no longer be reached and locked, so that another run could change this cluster meanwhile; bring them back and run the same command again, or lock only the hosts of this run with --lock hosts",
		len(c.lostGuards), len(c.Guards), c.GuardsNoun, shortlist.Names(slices.Sorted(maps.Keys(c.lostGuards)), maxNamed)))
}
