package schedule

import (
	"strings"
	"sync"
	"testing"
	"time"

	"deployer/engine"
	"deployer/engine/lock"
	"deployer/engine/session"
)

// TestRealLossOfLocksIsReportedOnce: hosts release the lock of a run whose connections are lost. The
// run says so when it is back, once, and continues.
func TestRealLossOfLocksIsReportedOnce(t *testing.T) {
	t.Parallel()
	f := newRealFleet(t, []string{"h1", "h2"})
	var once sync.Once
	f.sink = sinkFunc(func(e engine.Event) {
		if e.Host == "h1" && e.Type == engine.EventStepText && e.Text == "slow" {
			once.Do(func() {
				f.servers["h1"].Cut()
				f.servers["h2"].Cut()
			})
		}
	})
	report := f.run(t.Context(), []string{"h1", "h2"}, `
- hosts: all
  tasks:
    - {name: in flight, put: {path: /f1, text: slow}, register: first}
    - {name: afterwards, put: {path: /f2, text: fast}, when: "!first.failed"}
`, func(o *Options) {
		o.Lock = &session.LockOptions{Holder: lock.Holder{Run: o.RunID, Verb: "run", By: "ann@ci", Since: time.Now()}}
		o.Retry.Initial = 10 * time.Millisecond
	})
	if report.Outcome() != engine.OutcomeDone || f.read("h1", "f2") != "fast" || f.read("h2", "f2") != "fast" {
		t.Fatalf("the run did not complete: %s", summary(report))
	}
	warnings := 0
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range f.events {
		if e.Type == engine.EventWarning && strings.Contains(e.Text, "the lock of this run") {
			warnings++
		}
	}
	if warnings != 1 {
		t.Errorf("%d warnings, want 1", warnings)
	}
}
