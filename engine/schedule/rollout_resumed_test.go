package schedule

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"deployer/engine"
)

// TestRolloutAfterInterruptedRun checks what a rollout does first on hosts that an earlier
// run has left: those on which only post_tasks are due run them at once and together, and a
// host that failed before comes last, so that it is no canary.
func TestRolloutAfterInterruptedRun(t *testing.T) {
	w := newHookedHosts(5)
	names := w.s.inv.hosts
	for _, h := range names[1:4] {
		w.due[h], w.new[h] = true, true
	}
	together := make(chan struct{})
	var arrived sync.WaitGroup
	arrived.Add(3)
	go func() { arrived.Wait(); close(together) }()
	action := w.s.fleet.action
	w.s.fleet.action = func(ctx context.Context, name string, with map[string]any, site engine.ActionContext) (engine.Output, error) {
		if name == "uncordon" && slices.Contains(names[1:4], site.Host()) {
			arrived.Done()
			select {
			case <-together:
			case <-time.After(5 * time.Second):
				t.Errorf("%s runs its post_tasks without the others", site.Host())
			}
		}
		return action(ctx, name, with, site)
	}
	w.s.opts = func(o *Options) { o.FailedBefore = names[:1] }
	if r := w.run(t, "0"); len(r.Broken()) > 0 {
		t.Error(summary(r))
	}
	if at := func(line string) int { return slices.Index(w.log, line) }; at(names[4]+" change") < 0 || at(names[4]+" change") > at(names[0]+" change") {
		t.Errorf("%s is not changed before %s, which failed before: %v", names[4], names[0], w.log)
	}
	for _, h := range names[1:4] {
		if got := w.of(h); got != "healthy uncordon unsilence" {
			t.Errorf("%s: %s", h, got)
		}
	}
}
