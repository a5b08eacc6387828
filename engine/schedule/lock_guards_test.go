package schedule

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"deployer/engine"
	"deployer/engine/lock"
	"deployer/engine/session"
)

// TestRealLockGuardsLost: a run that has lost the majority of its guards stops after
// the steps in flight, whether these guards are hosts of the play or not; the loss of
// fewer guards is only reported.
func TestRealLockGuardsLost(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		hosts  []string // of the play
		gone   []string
		aborts bool
	}{
		"one of three guards":                                   {[]string{"h1"}, []string{"g1"}, false},
		"two of three guards":                                   {[]string{"h1"}, []string{"g1", "g2"}, true},
		"two guards that have completed":                        {[]string{"h1", "g1", "g2"}, []string{"g1", "g2"}, true},
		"one guard that has completed":                          {[]string{"h1", "g1", "g2"}, []string{"g2"}, false},
		"one guard that has completed, one that is only locked": {[]string{"h1", "g2"}, []string{"g1", "g2"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newRealFleet(t, []string{"h1", "g1", "g2", "g3"})
			var once sync.Once
			f.sink = sinkFunc(func(e engine.Event) {
				if e.Host == "h1" && e.Type == engine.EventStepText && e.Text == "slow" {
					once.Do(func() {
						for _, g := range tt.gone {
							f.servers[g].Close()
						}
					})
				}
			})
			var site strings.Builder
			site.WriteString("- hosts: all\n  max_fail: {all: 100%}\n  tasks:\n    - {name: all, put: {path: /x, text: x}}\n- hosts: h1\n  tasks:\n")
			for i := range 20 { // of 0.3 s each
				fmt.Fprintf(&site, "    - {name: t%d, put: {path: /f%d, text: slow}}\n", i, i)
			}
			report := f.run(t.Context(), tt.hosts, site.String(), func(o *Options) {
				o.Lock = &session.LockOptions{Holder: lock.Holder{Run: o.RunID, Verb: "run", By: "ann@ci", Since: time.Now()}, Guards: []string{"g1", "g2", "g3"}, GuardsNoun: "witnesses"}
				o.Retry.Attempts, o.Retry.Reattempts = 2, 2
			})
			if aborted := strings.Contains(report.Aborted, "2 of 3 witnesses (g1, g2) can no longer be reached"); aborted != tt.aborts {
				t.Errorf("aborted: %q\n%s", report.Aborted, summary(report))
			}
			if done := f.read("h1", "f19") == "slow"; done == tt.aborts {
				t.Errorf("the last step was done: %v", done)
			}
			warnings := 0
			f.mu.Lock()
			defer f.mu.Unlock()
			for _, e := range f.events {
				if e.Type == engine.EventWarning && strings.Contains(e.Text, "is not locked for this run") {
					warnings++
				}
			}
			if warnings != len(tt.gone) {
				t.Errorf("%d warnings about lost locks, want %v", warnings, tt.gone)
			}
		})
	}
}

// TestRealLockGuardsPause: while the connections to a majority of the guards are lost, and
// the run tries to open them again, the segment in flight ends and no other is sent.
func TestRealLockGuardsPause(t *testing.T) {
	t.Parallel()
	f := newRealFleet(t, []string{"h1", "g1", "g2", "g3"})
	var once sync.Once
	f.sink = sinkFunc(func(e engine.Event) {
		if e.Host == "h1" && e.Type == engine.EventStepText && e.Text == "slow" {
			once.Do(func() {
				f.servers["g1"].Close()
				f.servers["g2"].Close()
			})
		}
	})
	report := f.run(t.Context(), []string{"h1"}, `
- hosts: h1
  tasks:
    - {name: in flight, put: {path: /f1, text: slow}, register: first}
    - {name: afterwards, put: {path: /f2, text: fast}, when: first.changed}
`, func(o *Options) {
		o.Lock = &session.LockOptions{Holder: lock.Holder{Run: o.RunID, Verb: "run", By: "ann@ci", Since: time.Now()}, Guards: []string{"g1", "g2", "g3"}, GuardsNoun: "witnesses"}
		o.Retry.Attempts, o.Retry.Reattempts, o.Retry.Initial = 2, 3, 2*time.Second
	})
	if !strings.Contains(report.Aborted, "2 of 3 witnesses (g1, g2) can no longer be reached") {
		t.Errorf("aborted: %q", report.Aborted)
	}
	if f.read("h1", "f1") != "slow" || f.read("h1", "f2") == "fast" {
		t.Errorf("the step in flight wrote %q, the one after it %q", f.read("h1", "f1"), f.read("h1", "f2"))
	}
}
