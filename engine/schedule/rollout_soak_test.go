package schedule

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"deployer/engine"
)

// soaking returns the scenario of hookedHosts on which h1 is the canary; with sick,
// h1 with the change fails its gate from the second time on.
func soaking(sick bool) *hookedHosts {
	w := newHookedHosts(2)
	w.s.fleet.onSegment = func(host string, check bool, s engine.Step) string {
		if s.Name == "after the soak time: healthy" {
			w.mu.Lock()
			defer w.mu.Unlock()
			if w.log = append(w.log, host+" soaked"); sick {
				return "fail"
			}
			return "ok"
		}
		return w.step(host, check, s)
	}
	w.s.fleet.connect = func(host string, _ int) error {
		if host == "h2" {
			time.Sleep(20 * time.Millisecond) // h1 is the canary
		}
		return nil
	}
	return w
}

// TestRolloutSoak checks that the gates of a canary run again after the soak time, and that
// one whose gates do not hold is restored between its pre_tasks and post_tasks.
func TestRolloutSoak(t *testing.T) {
	hooked := strings.Replace(fmt.Sprintf(hookedPlaybook, "0"), "rollout: {", "rollout: {soak: 10ms, ", 1)
	const whole = "silence drain change healthy uncordon unsilence"
	for name, tt := range map[string]struct {
		playbook    string
		sick        bool
		fail        string // a call of an action that fails: its name and its number
		log, other  string
		outcome     engine.Outcome
		aborted     string
		postponed   bool // post_tasks stay due
		newAtTheEnd bool
	}{
		"its gates hold": {playbook: hooked, log: whole + " soaked", other: whole, outcome: engine.OutcomeDone, newAtTheEnd: true},
		"its gates do not hold": {playbook: hooked, sick: true, log: whole + " soaked silence drain back healthy uncordon unsilence", outcome: engine.OutcomeRestored,
			aborted: `h1 failed at "after the soak time: healthy" after it was changed; it was restored (1 step) and passes its checks again; 1 other host was not changed by it`},
		"pre_tasks fail before the restore": {playbook: hooked, sick: true, fail: "drain 2", log: whole + " soaked silence drain uncordon unsilence", outcome: engine.OutcomeAborted, newAtTheEnd: true,
			aborted: `it is not in its previous state: pre_tasks failed before its restore, at "drain": failure requested by the test`},
		"post_tasks fail after the restore": {playbook: hooked, sick: true, fail: "uncordon 2", log: whole + " soaked silence drain back healthy uncordon", outcome: engine.OutcomeAborted, postponed: true,
			aborted: `it is not in its previous state: post_tasks failed too, at "uncordon": failure requested by the test`},
		"post_tasks fail before": {playbook: hooked, fail: "uncordon 1", log: "silence drain change healthy uncordon", outcome: engine.OutcomeAborted, postponed: true, newAtTheEnd: true},
		"without hooks":          {playbook: strings.Replace(rolloutOf("{soak: pause_time, max_parallel: 1}"), "all\n", "all\n  vars: {pause_time: 10ms}\n", 1), log: "change healthy soaked", other: "change healthy", outcome: engine.OutcomeDone, newAtTheEnd: true},
		"without hooks its gates do not hold": {playbook: rolloutOf("{soak: 10ms, max_parallel: 1}"), sick: true, log: "change healthy soaked back healthy", outcome: engine.OutcomeRestored,
			aborted: "it was restored (1 step) and passes its checks again"},
	} {
		t.Run(name, func(t *testing.T) {
			w := soaking(tt.sick)
			if strings.Contains(name, "without hooks") {
				w.task = ".1"
			}
			action, calls := w.s.fleet.action, map[string]int{}
			w.s.fleet.action = func(ctx context.Context, call string, with map[string]any, actx engine.ActionContext) (engine.Output, error) {
				if actx.Host() == "h1" {
					calls[call]++
					if w.mu.Lock(); fmt.Sprintf("%s %d", call, calls[call]) == tt.fail {
						w.fail["h1 "+call] = true
					} else {
						delete(w.fail, "h1 "+call)
					}
					w.mu.Unlock()
				}
				return action(ctx, call, with, actx)
			}
			r := w.s.run(t, t.Context(), tt.playbook)
			if w.of("h1") != tt.log || w.of("h2") != tt.other {
				t.Errorf("h1: %s\nh2: %s", w.of("h1"), w.of("h2"))
			}
			if r.Outcome() != tt.outcome || !strings.Contains(r.Aborted, tt.aborted) {
				t.Errorf("%s: %s\n%s", r.Outcome(), r.Aborted, summary(r))
			}
			if w.due["h1"] != tt.postponed || w.new["h1"] != tt.newAtTheEnd {
				t.Errorf("post_tasks due: %t, changed: %t", w.due["h1"], w.new["h1"])
			}
		})
	}
}

// TestRolloutSoakInterrupted checks that the end of a run cuts the soak time short, and that
// the gates run all the same.
func TestRolloutSoakInterrupted(t *testing.T) {
	w := soaking(true)
	w.task = ".1"
	interrupt := make(chan struct{})
	w.s.opts = func(o *Options) { o.Interrupt = interrupt }
	step, once := w.s.fleet.onSegment, sync.Once{}
	w.s.fleet.onSegment = func(host string, check bool, s engine.Step) string {
		if s.Name == "healthy" && !check {
			once.Do(func() { close(interrupt) })
		}
		return step(host, check, s)
	}
	start := time.Now()
	r := w.s.run(t, t.Context(), rolloutOf("{soak: 1h, max_parallel: 1}"))
	if time.Since(start) > time.Minute || w.of("h1") != "change healthy soaked back healthy" || !r.Interrupted {
		t.Errorf("%s: %s", r.Outcome(), w.of("h1"))
	}
}
