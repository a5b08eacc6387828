package schedule

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"deployer/engine"
)

const cutOff = `
- hosts: all
  tasks:
    - name: roll
      rollout: {canary: h1, max_parallel: 1, restore_if_lost: 1s}
      block:
        - {name: one, put: {path: /one, text: new}, notify: [h, more]}
        - {name: two, put: {path: /two, text: slow}}
        - {name: three, put: {path: /three, text: new}}
  handlers:
    - {name: h, put: {path: /handled, text: "for {{ host.name }}"}}
    - {name: more, put: {path: /more, text: "{{ run.id }}"}, when: host.name == "nobody"}
`

// cutOffFleet returns hosts with former contents. The connection to h1 is lost during the
// step two.
func cutOffFleet(t *testing.T, cut func(f *realFleet)) *realFleet {
	f := newRealFleet(t, hostNames(3))
	for _, h := range hostNames(3) {
		for _, file := range []string{"one", "two"} {
			if err := os.WriteFile(filepath.Join(f.root(h), file), []byte("old"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	var once sync.Once
	f.sink = sinkFunc(func(e engine.Event) {
		if e.Type == engine.EventStepText && e.Host == "h1" && e.Text == "slow" {
			once.Do(func() { cut(f) })
		}
	})
	return f
}

// TestUnattendedRestore: a change cuts the first host of a rollout off. The host restores
// itself, with the handlers that need no controller, and can be reached again; the rollout
// stops there, and the other hosts are not changed.
func TestUnattendedRestore(t *testing.T) {
	t.Parallel()
	var lost atomic.Bool
	f := cutOffFleet(t, func(f *realFleet) {
		lost.Store(true)
		go f.servers["h1"].Cut()
	})
	f.refuse = func(host string) error {
		if host == "h1" && lost.Load() && f.read("h1", "one") != "old" {
			return fmt.Errorf("no route to %s", host)
		}
		return nil
	}
	report := f.run(t.Context(), hostNames(3), cutOff, nil)
	h1 := report.Hosts[0]
	if h1.Failure == nil || h1.FailedStep != "two" || h1.Unreachable || h1.Restored == nil || !h1.Restored.Clean() || !h1.Restored.ByHost {
		t.Errorf("h1: %+v, restored %+v, failure %+v", h1, h1.Restored, h1.Failure)
	}
	if !strings.Contains(report.Aborted, "it has restored itself and passes its checks again") || !strings.Contains(report.Aborted, "2 other hosts were not changed") {
		t.Errorf("aborted: %s", report.Aborted)
	}
	for file, want := range map[string]string{"one": "old", "two": "old", "handled": "for h1", "handled.applied": "x"} {
		if got := f.read("h1", file); got != want {
			t.Errorf("h1: %s is %q, want %q", file, got, want)
		}
	}
	for _, file := range []string{"three", "more"} {
		if _, err := os.Stat(filepath.Join(f.root("h1"), file)); err == nil {
			t.Errorf("h1 has %s", file)
		}
	}
	if got := f.read("h2", "one"); got != "old" {
		t.Errorf("h2: one is %q", got)
	}
}

// TestUnattendedRestoreStandsDown: the connection comes back at once, and the rollout goes
// on; neither the agent that lost the controller nor the next one restores anything.
func TestUnattendedRestoreStandsDown(t *testing.T) {
	t.Parallel()
	f := cutOffFleet(t, func(f *realFleet) { go f.servers["h1"].Cut() })
	report := f.run(t.Context(), hostNames(3), cutOff+`
- hosts: all
  tasks:
    - {name: later, put: {path: /later, text: slow}}
    - {name: latest, put: {path: /latest, text: slow}}
    - {name: and so on, put: {path: /on, text: slow}}
    - {name: and on, put: {path: /onandon, text: slow}}
`, nil)
	if len(report.Broken()) > 0 || report.Aborted != "" {
		t.Fatalf("aborted %q\n%s", report.Aborted, summary(report))
	}
	for file, want := range map[string]string{"one": "new", "two": "slow", "three": "new", "one.applied": "x"} {
		if got := f.read("h1", file); got != want {
			t.Errorf("h1: %s is %q, want %q", file, got, want)
		}
	}
}

// TestUnreachableAnew: after the change nobody can log in, while the session still works. The
// controller restores the host at once.
func TestUnreachableAnew(t *testing.T) {
	t.Parallel()
	f := cutOffFleet(t, func(*realFleet) {})
	f.refuse = func(host string) error {
		if host == "h1" && f.read("h1", "three") == "new" {
			return errors.New("permission denied")
		}
		return nil
	}
	report := f.run(t.Context(), hostNames(3), cutOff, nil)
	h1 := report.Hosts[0]
	if h1.Failure == nil || !strings.Contains(h1.Failure.Message, "cannot be logged in to, while the present session works: ") || !strings.Contains(h1.Failure.Message, "permission denied") || h1.FailedStep != "a new connection to the host" ||
		h1.Restored == nil || !h1.Restored.Clean() || h1.Restored.ByHost {
		t.Errorf("h1: %+v, restored %+v, failure %+v", h1, h1.Restored, h1.Failure)
	}
	if !strings.Contains(report.Aborted, "it was restored (3 steps) and passes its checks again; 2 other hosts were not changed") {
		t.Errorf("aborted: %s", report.Aborted)
	}
	if got := f.read("h1", "one"); got != "old" {
		t.Errorf("h1: one is %q", got)
	}
}
