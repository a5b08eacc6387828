package session

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"deployer/engine"
	"deployer/shortlist"
)

// Reconnecting records that the connection to the machine was lost and that the caller opens
// it again, with a bounded number of attempts, until the caller calls ended. Of guards it
// decides about AwaitMajority.
func (l *Connection) Reconnecting() (ended func()) {
	c := l.run.lock
	if c == nil || !slices.Contains(c.Guards, l.name) {
		return func() {}
	}
	c.setAway(l.name, true)
	return func() { c.setAway(l.name, false) }
}

// AwaitMajority waits while a majority of the guards is not connected and some of them are
// being connected again: another run could lock them and change the same cluster meanwhile.
// New work is sent after it; work in flight is not affected. A run that has given up on a
// majority is aborted, so nobody waits for one that never comes. The error is the cause of
// the end of ctx or stop.
func (ls *Connections) AwaitMajority(ctx, stop context.Context) error {
	c := ls.lock
	if c == nil {
		return nil
	}
	for {
		c.mu.Lock()
		resumed := c.resumed
		c.mu.Unlock()
		if resumed == nil {
			return nil
		}
		select {
		case <-resumed:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-stop.Done():
			return context.Cause(stop)
		}
	}
}

// setAway records whether a guard is being connected again, and pauses or resumes the run.
func (c *runLock) setAway(guard string, away bool) {
	c.mu.Lock()
	if c.away == nil {
		c.away = map[string]bool{}
	}
	if delete(c.away, guard); away {
		c.away[guard] = true
	}
	missing, before := c.missingGuards(), c.paused
	c.paused = len(missing) > 0
	switch {
	case c.paused && !before:
		c.resumed = make(chan struct{})
	case !c.paused && before:
		close(c.resumed)
		c.resumed = nil
	}
	paused := c.paused
	c.mu.Unlock()
	switch {
	case paused && !before:
		c.opts.Emit(engine.Event{Type: engine.EventWarning, Text: fmt.Sprintf("paused: the connections to %d of %d %s (%s) are lost, so that another run could change this cluster meanwhile; steps in flight end, and the run continues when more than half are connected",
			len(missing), len(c.Guards), c.GuardsNoun, shortlist.Names(missing, maxNamed))})
	case !paused && before && c.opts.Stop.Err() == nil:
		c.opts.Emit(engine.Event{Type: engine.EventWarning, Text: "continues after the pause"})
	}
}

// missingGuards returns the guards that are not connected, sorted, if the run has to pause:
// they are half of the guards or more, and some are being connected again. c.mu is held.
func (c *runLock) missingGuards() []string {
	if !c.hasMajority || len(c.away) == 0 {
		return nil
	}
	missing := maps.Clone(c.away)
	maps.Copy(missing, c.lostGuards)
	if connected := len(c.Guards) - len(missing); 2*connected > len(c.Guards) {
		return nil
	}
	return slices.Sorted(maps.Keys(missing))
}
