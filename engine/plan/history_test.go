package plan

import (
	"fmt"
	"testing"
	"time"

	"deployer/engine"
)

func took(host, step string, status engine.Status, d time.Duration) engine.Event {
	return engine.Event{Type: engine.EventStepEnd, Host: host, Step: step, Result: &engine.Result{Step: step, Status: status, Elapsed: d}}
}

// TestEstimate: the estimate adds the medians of the steps, with hosts in parallel as
// far as forks and throttles allow.
func TestEstimate(t *testing.T) {
	h := &History{}
	for _, d := range []time.Duration{2, 60, 4} {
		h.Add(took("n1", "1", engine.StatusChanged, d*time.Second))
		h.Add(took("n1", "2", engine.StatusChanged, time.Second))
		h.Add(took("n1", "3", engine.StatusOK, time.Second))
		h.Add(took("n1", "4", engine.StatusOK, time.Second))
		h.EndRun()
	}
	restart := did("", "2", of(engine.EffectRestart, "a"))
	restart.Result.MaxParallel = 5
	var free, both []engine.Event
	for i := range 100 {
		host := fmt.Sprintf("n%03d", i)
		one, two := did(host, "1", file("/a", "replace")), restart
		two.Host = host
		free, both = append(free, one), append(both, one, two)
	}
	for name, c := range map[string]struct {
		plan  *Plan
		forks int
		want  time.Duration
	}{
		"all hosts in parallel":              {made(free...), 100, 6 * time.Second},
		"ten hosts in parallel":              {made(free...), 10, 60 * time.Second},
		"with steps on five hosts at a time": {made(both...), 100, 26 * time.Second},
		"one host":                           {made(free[0]), 50, 6 * time.Second},
		"step without a known duration":      {made(did("n1", "9", file("/b", "create"))), 50, 0},
	} {
		got, known := h.Estimate(c.plan, c.forks)
		if known != (c.want > 0) || known && got != c.want {
			t.Errorf("%s: %v, %v, want %v", name, got, known, c.want)
		}
	}
	if h.Runs != 3 {
		t.Errorf("%d runs", h.Runs)
	}
}
