package schedule

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"deployer/engine"
)

// TestRolloutAfterInterruptedRun checks the order of a rollout on hosts that an
// earlier run has left: hosts on which only post_tasks are due run them at once and
// in parallel, and a host that failed before comes last, so that it is no canary.
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
	w.s.fleet.action = func(ctx context.Context, name string, with map[string]any, actx engine.ActionContext) (engine.Output, error) {
		if name == "uncordon" && slices.Contains(names[1:4], actx.Host()) {
			arrived.Done()
			select {
			case <-together:
			case <-time.After(5 * time.Second):
				t.Errorf("%s runs its post_tasks without the others", actx.Host())
			}
		}
		return action(ctx, name, with, actx)
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

// TestRolloutOfAHostThatWasChangedBefore checks a host that a killed run has changed
// and whose gate has not run: nothing is left to change there, and yet the host
// passes the gate, or is restored. Only a run that resumes the killed one may restore
// its changes.
func TestRolloutOfAHostThatWasChangedBefore(t *testing.T) {
	tests := map[string]struct {
		sick    bool
		resumes []string
		log     string
		outcome engine.Outcome
		begun   bool // the record after the run
	}{
		"its gate holds":                       {resumes: []string{"r0"}, log: "n1 healthy", outcome: engine.OutcomeDone},
		"its gate does not hold":               {sick: true, resumes: []string{"r0"}, log: "n1 sick,n1 back,n1 healthy", outcome: engine.OutcomeRestored},
		"its gate does not hold, in a new run": {sick: true, log: "n1 sick,n1 sick", outcome: engine.OutcomeAborted, begun: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newRolloutHosts()
			w.changer = "r0"
			w.new["n1"], w.begun["n1"], w.allergy["n1"] = true, true, tt.sick
			s := rolled(w, 0, 1)
			s.opts = func(o *Options) { o.ResumedRuns = tt.resumes }
			r := s.run(t, t.Context(), fmt.Sprintf(rolloutBook, "1"))
			if got := strings.Join(w.log, ","); got != tt.log || r.Outcome() != tt.outcome || w.begun["n1"] != tt.begun {
				t.Errorf("%s, begun %t: %s\nwant %s, begun %t: %s\n%s", r.Outcome(), w.begun["n1"], got, tt.outcome, tt.begun, tt.log, summary(r))
			}
		})
	}
}

// TestHostLeftInsideCountsBeforeItArrives: a host that an earlier run has left in the
// middle of its change takes long for its check. Another host, with a limit of one,
// waits for it.
func TestHostLeftInsideCountsBeforeItArrives(t *testing.T) {
	w := newRolloutHosts()
	w.begun["n1"] = true
	s := rolled(w, 0, 3)
	s.fleet.onSegment = func(host string, check bool, step engine.Step) string {
		if host == "n1" && check && step.Name == "config" {
			time.Sleep(100 * time.Millisecond)
		}
		return w.step(host, check, step)
	}
	book := strings.Replace(fmt.Sprintf(rolloutBook, "1"), "  tasks:\n", "  tasks:\n    - {name: everybody is there, do: {}, barrier: true}\n", 1)
	if r := s.run(t, t.Context(), book); r.Outcome() != engine.OutcomeDone {
		t.Errorf("%s\n%s", r.Outcome(), summary(r))
	}
	if got := strings.Join(w.log[:2], ","); got != "n1 change,n1 healthy" {
		t.Errorf("the first steps are %v, want those of n1", w.log)
	}
}

// TestRolloutRecord: a host has the record while it is between its change and its gate.
func TestRolloutRecord(t *testing.T) {
	w := newRolloutHosts()
	w.lose["n1"] = true
	rolled(w, 0, 1).run(t, t.Context(), fmt.Sprintf(rolloutBook, "1"))
	if !w.begun["n1"] {
		t.Error("a host that was lost before its gate has no record of the rollout")
	}
	w.lose["n1"] = false
	rolled(w, 0, 1).run(t, t.Context(), fmt.Sprintf(rolloutBook, "1"))
	if w.begun["n1"] || w.log[len(w.log)-1] != "n1 healthy" {
		t.Errorf("after the next run: begun %t, %v", w.begun["n1"], w.log)
	}
}
