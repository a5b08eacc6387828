package schedule

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
	"deployer/engine/session"
)

const hookedPlaybook = `
- hosts: all
  tasks:
    - name: settings
      rollout: {canary: [all], max_parallel: 1, max_fail: %s}
      pre_tasks:
        - {name: silence, do: {}}
        - {name: drain, act: {name: drain}}
      block:
        - {name: config, do: {}}
        - {name: healthy, gate: {}}
      post_tasks:
        - {name: uncordon, act: {name: uncordon}}
        - {name: unsilence, do: {}}
    - {name: after, do: {}}
`

// hookedHosts are rolloutHosts with pre_tasks and post_tasks. fail holds the steps that
// fail, by "host step".
type hookedHosts struct {
	*rolloutHosts
	fail map[string]bool
	due  map[string]bool // hosts whose post_tasks are due
	s    *scenario
}

func newHookedHosts(hosts int) *hookedHosts {
	w := &hookedHosts{rolloutHosts: newRolloutHosts(), fail: map[string]bool{}, due: map[string]bool{}, s: of(hosts)}
	w.task = ".3"
	w.s.fleet.onSegment = w.step
	w.s.fleet.pending = func(host string) []string {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.due[host] {
			return []string{"site.yaml/rollout/settings"}
		}
		return nil
	}
	w.s.fleet.action = func(_ context.Context, name string, _ map[string]any, actx engine.ActionContext) (engine.Output, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.log = append(w.log, actx.Host()+" "+name)
		if w.fail[actx.Host()+" "+name] {
			return nil, fmt.Errorf("failure requested by the test")
		}
		return nil, nil
	}
	return w
}

func (w *hookedHosts) step(host string, check bool, s engine.Step) string {
	w.mu.Lock()
	switch {
	case s.Module == engine.RolloutRecordModule:
		var due engine.RolloutRecord
		if err := json.Unmarshal(s.Args, &due); err != nil || check || due.Rollout != "site.yaml/rollout/settings" {
			panic(fmt.Sprintf("%s: %v", s.Args, err))
		}
		w.due[host] = !due.Done
		w.mu.Unlock()
		return "change"
	case s.Name == "silence" || s.Name == "unsilence":
		defer w.mu.Unlock()
		w.log = append(w.log, host+" "+s.Name)
		if w.fail[host+" "+s.Name] {
			return "fail"
		}
		return "change"
	}
	w.mu.Unlock()
	return w.rolloutHosts.step(host, check, s)
}

func (w *hookedHosts) run(t *testing.T, maxFail string) *engine.Report {
	t.Helper()
	return w.s.run(t, t.Context(), fmt.Sprintf(hookedPlaybook, maxFail))
}

// of returns the log entries of a host.
func (w *hookedHosts) of(host string) string {
	var out []string
	for _, line := range w.log {
		if word, ok := strings.CutPrefix(line, host+" "); ok {
			out = append(out, word)
		}
	}
	return strings.Join(out, " ")
}

// TestRolloutHooks checks which parts of a rollout run on a host, in which order, and what
// the report says.
func TestRolloutHooks(t *testing.T) {
	const whole = "silence drain change healthy uncordon unsilence"
	for name, tt := range map[string]struct {
		prepare func(w *hookedHosts)
		maxFail string
		log     [2]string // of h1 and h2
		due     string    // the hosts whose post_tasks stay due
		outcome engine.Outcome
		aborted string // a part of it
		failed  string // step, message and restore result of h1, a part of it
	}{
		"all changes": {log: [2]string{whole, whole}, outcome: engine.OutcomeDone},
		"unchanged hosts run neither": {
			prepare: func(w *hookedHosts) { w.new["h1"] = true },
			log:     [2]string{"", whole}, outcome: engine.OutcomeDone,
		},
		"pre_tasks fail": {
			prepare: func(w *hookedHosts) { w.fail["h1 drain"] = true },
			log:     [2]string{"silence drain uncordon unsilence", ""}, outcome: engine.OutcomeRestored,
			aborted: `h1 failed at "drain" in pre_tasks; its change was not begun; 1 other host was not changed by it`,
			failed:  "drain: failure requested by the test: its change was not begun",
		},
		"pre_tasks fail on a host": {
			prepare: func(w *hookedHosts) { w.fail["h1 silence"] = true },
			log:     [2]string{"silence uncordon unsilence", ""}, outcome: engine.OutcomeRestored,
			failed: "silence: failure requested by the test: its change was not begun",
		},
		"the change fails": {
			prepare: func(w *hookedHosts) { w.allergy["h1"] = true },
			log:     [2]string{"silence drain change sick back healthy uncordon unsilence", ""}, outcome: engine.OutcomeRestored,
			aborted: `h1 failed at "healthy" after it was changed; it was restored (1 step) and passes its checks again`,
			failed:  "healthy: failure requested by the test: it was restored",
		},
		"post_tasks fail": {
			prepare: func(w *hookedHosts) { w.fail["h1 uncordon"] = true },
			log:     [2]string{"silence drain change healthy uncordon", ""}, due: "h1", outcome: engine.OutcomeAborted,
			aborted: `h1 failed at "uncordon" in post_tasks; its change has passed its checks and stays`,
			failed:  "uncordon: failure requested by the test: it is not in its previous state: its change has passed its checks and stays",
		},
		"the change and post_tasks fail": {
			prepare: func(w *hookedHosts) { w.allergy["h1"], w.fail["h1 uncordon"] = true, true },
			log:     [2]string{"silence drain change sick back healthy uncordon", ""}, due: "h1", outcome: engine.OutcomeAborted,
			failed: `healthy: failure requested by the test: it is not in its previous state: post_tasks failed too, at "uncordon": failure requested by the test`,
		},
		"pre_tasks and post_tasks fail": {
			prepare: func(w *hookedHosts) { w.fail["h1 drain"], w.fail["h1 uncordon"] = true, true },
			log:     [2]string{"silence drain uncordon", ""}, due: "h1", outcome: engine.OutcomeAborted,
			failed: `drain: failure requested by the test: it is not in its previous state: post_tasks failed too, at "uncordon": failure requested by the test`,
		},
		"the host is lost during its change": {
			prepare: func(w *hookedHosts) { w.lose["h1"] = true },
			log:     [2]string{"silence drain change", ""}, due: "h1", outcome: engine.OutcomeAborted,
			aborted: "h1 was lost while it was changed", failed: "it is not in its previous state: the host was lost",
		},
		"post_tasks are due from an earlier run": {
			prepare: func(w *hookedHosts) { w.new["h1"], w.due["h1"] = true, true },
			log:     [2]string{"healthy uncordon unsilence", whole}, outcome: engine.OutcomeDone,
		},
		"the change and post_tasks are due from an earlier run": {
			prepare: func(w *hookedHosts) { w.due["h1"] = true },
			log:     [2]string{whole, whole}, outcome: engine.OutcomeDone,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newHookedHosts(2)
			w.s.fleet.connect = func(host string, _ int) error {
				if host == "h2" {
					time.Sleep(20 * time.Millisecond) // h1 is the canary
				}
				return nil
			}
			if tt.prepare != nil {
				tt.prepare(w)
			}
			w.s.opts = func(o *Options) {
				o.Retry = session.Retry{Initial: time.Millisecond, Max: time.Millisecond, Attempts: 2, Reattempts: 2}
			}
			r := w.run(t, "0")
			for i, want := range tt.log {
				if got := w.of(fmt.Sprintf("h%d", i+1)); got != want {
					t.Errorf("h%d: %s\nwant: %s", i+1, got, want)
				}
			}
			var due []string
			for h, is := range w.due {
				if is {
					due = append(due, h)
				}
			}
			if strings.Join(due, " ") != tt.due {
				t.Errorf("post_tasks are due on %v, want %q", due, tt.due)
			}
			if r.Outcome() != tt.outcome || !strings.Contains(r.Aborted, tt.aborted) {
				t.Errorf("outcome %q: %s\n%s", r.Outcome(), r.Aborted, summary(r))
			}
			if h := r.Hosts[0]; tt.failed != "" {
				if got := fmt.Sprintf("%s: %v: %v", h.FailedStep, h.Failure, h.Restored); !strings.Contains(got, tt.failed) {
					t.Errorf("h1: %s\nwant: %s", got, tt.failed)
				}
			}
		})
	}
}

// TestRolloutHooksCount checks that hosts whose pre_tasks fail count as failed hosts of the
// rollout, and that others go on within max_fail.
func TestRolloutHooksCount(t *testing.T) {
	w := newHookedHosts(6)
	w.fail["h3 drain"], w.fail["h4 drain"] = true, true
	w.new["h1"] = false
	for _, h := range []string{"h3", "h4"} {
		w.new[h] = false
	}
	// h1 is the canary: the other hosts arrive when it is inside.
	inside := make(chan struct{})
	w.s.fleet.connect = func(host string, _ int) error {
		if host != "h1" {
			<-inside
		}
		return nil
	}
	var once sync.Once
	action := w.s.fleet.action
	w.s.fleet.action = func(ctx context.Context, name string, with map[string]any, actx engine.ActionContext) (engine.Output, error) {
		once.Do(func() { close(inside) })
		return action(ctx, name, with, actx)
	}
	r := w.run(t, "2")
	if r.Aborted != "" || len(r.Broken()) != 2 || r.Outcome() != engine.OutcomePartial {
		t.Fatalf("%s: %s\n%s", r.Outcome(), r.Aborted, summary(r))
	}
	for _, h := range []string{"h1", "h2", "h5", "h6"} {
		if !w.new[h] {
			t.Errorf("%s was left out", h)
		}
	}
}

// TestRolloutHooksInterrupted checks that the end of a run stops a host during its
// pre_tasks, unchanged and after its post_tasks, and not later.
func TestRolloutHooksInterrupted(t *testing.T) {
	for at, want := range map[string]string{
		"silence": "silence uncordon unsilence",
		"drain":   "silence drain uncordon unsilence",
		"config":  "silence drain change healthy uncordon unsilence",
	} {
		t.Run(at, func(t *testing.T) {
			w := newHookedHosts(3)
			interrupt := make(chan struct{})
			var once sync.Once
			stop := func(name string) {
				if name == at {
					once.Do(func() {
						close(interrupt)
						time.Sleep(100 * time.Millisecond) // time for the run to handle the interrupt
					})
				}
			}
			w.s.opts = func(o *Options) { o.Interrupt = interrupt }
			w.s.fleet.onSegment = func(host string, check bool, step engine.Step) string {
				defer func() {
					if !check {
						stop(step.Name)
					}
				}()
				return w.step(host, check, step)
			}
			action := w.s.fleet.action
			w.s.fleet.action = func(ctx context.Context, name string, with map[string]any, actx engine.ActionContext) (engine.Output, error) {
				stop(name)
				return action(ctx, name, with, actx)
			}
			r := w.run(t, "0")
			if r.Outcome() != engine.OutcomeInterrupted || len(r.Broken()) != 0 {
				t.Errorf("%s\n%s", r.Outcome(), summary(r))
			}
			canary, _, _ := strings.Cut(w.log[0], " ")
			if got := w.of(canary); got != want || len(w.log) != len(strings.Fields(want)) {
				t.Errorf("%v\nwant: %s", w.log, want)
			}
			if w.due[canary] {
				t.Error("post_tasks are still due")
			}
		})
	}
}

// TestRolloutHooksNotInForce checks that a block whose rollout is not in force is a block
// without pre_tasks and post_tasks.
func TestRolloutHooksNotInForce(t *testing.T) {
	w := newHookedHosts(2)
	r := w.s.run(t, t.Context(), strings.Replace(fmt.Sprintf(hookedPlaybook, "0"), "rollout: {", "rollout: {when: n > 100, ", 1))
	if got := w.of("h1"); got != "change healthy" || r.Outcome() != engine.OutcomeDone {
		t.Errorf("%s: %s", got, r.Outcome())
	}
	w = newHookedHosts(1)
	w.allergy["h1"] = true
	r = w.s.run(t, t.Context(), strings.Replace(fmt.Sprintf(hookedPlaybook, "0"), "rollout: {", "rollout: {when: n > 100, ", 1))
	if got := w.of("h1"); got != "change sick" || r.Outcome() != engine.OutcomeAborted {
		t.Errorf("%s: %s", got, r.Outcome())
	}
}

// TestRolloutHooksInPlans checks that a check lists pre_tasks and post_tasks for hosts that
// would change, and for no others.
func TestRolloutHooksInPlans(t *testing.T) {
	w := newHookedHosts(3)
	w.new["h2"], w.new["h3"], w.due["h3"] = true, true, true
	w.s.opts = func(o *Options) { o.CheckOnly = true }
	w.run(t, "0")
	got := map[string][]string{}
	for _, e := range w.s.fleet.events {
		if e.Type == engine.EventStepEnd && e.Result.Status == engine.StatusChanged {
			got[e.Host] = append(got[e.Host], e.Name)
		}
	}
	want := map[string][]string{"h1": {"silence", "drain", "config", "uncordon", "unsilence"}, "h3": {"uncordon", "unsilence"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(w.due) != 1 {
		t.Errorf("a check has recorded due post_tasks: %v", w.due)
	}
}

// TestRolloutHooksRunCleanups checks that a state which pre_tasks set and no post_task ends
// is ended when the host leaves the run.
func TestRolloutHooksRunCleanups(t *testing.T) {
	w := newHookedHosts(1)
	w.fail["h1 uncordon"] = true
	action, ended := w.s.fleet.action, false
	w.s.fleet.action = func(ctx context.Context, name string, with map[string]any, actx engine.ActionContext) (engine.Output, error) {
		if cleanups, _ := engine.Service[*engine.Cleanups](actx.Services()); name == "drain" {
			cleanups.Register(actx.Host(), engine.Cleanup{Name: "cordon", Run: func(context.Context) (string, string) {
				ended = true
				return "uncordoned", ""
			}})
		}
		return action(ctx, name, with, actx)
	}
	w.run(t, "0")
	if !ended || !slices.Contains(w.log, "h1 uncordon") {
		t.Errorf("the cordon was not ended: %v", w.log)
	}
}
