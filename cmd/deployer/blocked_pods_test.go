package main

import (
	"strings"
	"testing"

	"deployer/engine"
)

// TestBlockedPodsAreWarnings: a dry run repeats at its end which pods cannot leave their node, and
// nothing of pods that can.
func TestBlockedPodsAreWarnings(t *testing.T) {
	warnings := &drainWarnings{}
	effects := []engine.Effect{
		{Kind: engine.EffectDrain, Diff: "-n1: default/a\n-n1: default/b  (PodDisruptionBudget default/b allows no disruption now: 0 of 2 pods are healthy, 1 must be)\n"},
		{Kind: engine.EffectFile, Diff: "-x  (y)\n"},
	}
	warnings.Emit(engine.Event{Type: engine.EventStepEnd, Result: &engine.Result{OnController: true, Change: &engine.Change{Effects: effects}}})
	warnings.Emit(engine.Event{Type: engine.EventStepEnd, Result: &engine.Result{Change: &engine.Change{Effects: effects}}}) // a module of a hostile host
	warnings.Emit(engine.Event{Type: engine.EventStepEnd, Result: &engine.Result{}})
	var out strings.Builder
	printBlockedPods(&out, warnings.lines)
	want := "  n1: default/b  (PodDisruptionBudget default/b allows no disruption now: 0 of 2 pods are healthy, 1 must be)\n"
	if got := out.String(); strings.Count(got, "\n") != 2 || !strings.HasSuffix(got, want) {
		t.Errorf("printed %q", got)
	}
}
