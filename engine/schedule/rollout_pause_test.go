package schedule

import (
	"slices"
	"strings"
	"testing"
	"time"

	"deployer/engine"
)

// TestRolloutPause checks that a run ends after the canaries like an interrupted one,
// that the run which resumes it continues, and that a rollout without further hosts
// does not pause.
func TestRolloutPause(t *testing.T) {
	const rollout = "{max_parallel: 2, pause: careful}"
	w := newRolloutHosts()
	run := func(hosts int, extra map[string]any, passed ...string) *engine.Report {
		s := rolled(w, 0, hosts)
		s.opts = func(o *Options) { o.Extra, o.PassedPauses = extra, passed }
		s.fleet.connect = func(host string, _ int) error {
			if host != "n1" {
				time.Sleep(10 * time.Millisecond) // n1 is the canary
			}
			return nil
		}
		return s.run(t, t.Context(), rolloutOf(rollout))
	}
	careful := map[string]any{"careful": true}
	r := run(4, careful)
	if r.Outcome() != engine.OutcomeInterrupted || len(w.new) != 1 || !slices.Equal(r.Paused, []string{"site.yaml/rollout/settings"}) ||
		!strings.Contains(r.Aborted, `the rollout of "settings" pauses after its canaries`) {
		t.Fatalf("%s: %s, paused %v, %d hosts were changed\n%s", r.Outcome(), r.Aborted, r.Paused, len(w.new), summary(r))
	}
	if r = run(4, careful, r.Paused...); r.Outcome() != engine.OutcomeDone || len(w.new) != 4 || len(r.Paused) != 1 {
		t.Errorf("resumed, %s: %d hosts were changed\n%s", r.Outcome(), len(w.new), summary(r))
	}
	if r = run(4, careful); r.Outcome() != engine.OutcomeDone || r.Changed() != 0 {
		t.Errorf("a run without changes is %s", r.Outcome())
	}
	w = newRolloutHosts()
	if r = run(1, careful); r.Outcome() != engine.OutcomeDone {
		t.Errorf("a rollout that has only a canary is %s: %s", r.Outcome(), r.Aborted)
	}
	w = newRolloutHosts()
	if r = run(4, map[string]any{"careful": false}); r.Outcome() != engine.OutcomeDone || len(w.new) != 4 {
		t.Errorf("a rollout that is not to pause is %s", r.Outcome())
	}
}
