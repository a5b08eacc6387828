package fleet

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"deployer/engine"
	"deployer/engine/lock"
)

// delayModules delays the check of the step with the module link on each host.
func delayModules(long time.Duration) func(context.Context, *Host, string) {
	return func(ctx context.Context, _ *Host, module string) {
		if module != "link" {
			return
		}
		select {
		case <-time.After(long):
		case <-ctx.Done():
		}
	}
}

// TestConcurrentRuns checks that of two runs on the same hosts one completes and the
// other is refused before any change.
func TestConcurrentRuns(t *testing.T) {
	t.Parallel()
	tr := newSiteRuns(t, 12, Options{Before: delayModules(2 * lock.Grace)})
	inv, err := tr.fleet.Inventory(tr.site)
	if err != nil {
		t.Fatal(err)
	}
	reports := make([]*engine.Report, 2)
	var both sync.WaitGroup
	for i, id := range []string{"first", "second"} {
		both.Go(func() {
			c := tr.c
			c.Inventory = inv
			var err error
			if reports[i], err = c.Run(t.Context(), id); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	won, lost := reports[0], reports[1]
	if won.Aborted != "" {
		won, lost = lost, won
	}
	tr.changed(won, firstChanges)
	if !strings.HasPrefix(lost.Aborted, "refused: run "+won.Run+" (run) by fleet holds the lock on n0") || lost.Changed() > 0 {
		t.Errorf("the other run: %q, %d changed", lost.Aborted, lost.Changed())
	}
	tr.trees()
}

// TestLockIsReleasedAfterKill checks that the locks of a killed controller are released
// when the steps in flight have ended.
func TestLockIsReleasedAfterKill(t *testing.T) {
	t.Parallel()
	tr := newSiteRuns(t, 12, Options{Before: delayModules(200 * time.Millisecond)})
	inv, err := tr.fleet.Inventory(tr.site)
	if err != nil {
		t.Fatal(err)
	}
	ctx, kill := context.WithCancelCause(t.Context())
	c := tr.c
	c.Inventory, c.Sink = inv, sinkFunc(func(e engine.Event) {
		if e.Type == engine.EventStepEnd && e.Name == "directories" {
			kill(errors.New("killed"))
		}
	})
	if _, err := c.Run(ctx, "killed"); err != nil {
		t.Fatal(err)
	}
	report, _ := tr.run()
	if report.Aborted != "" || len(report.Broken()) > 0 {
		t.Errorf("%q, %v", report.Aborted, report.Broken())
	}
	tr.trees()
}

// sinkFunc is a function that takes events.
type sinkFunc func(engine.Event)

// Emit implements engine.Sink.
func (f sinkFunc) Emit(e engine.Event) { f(e) }
