package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"deployer/engine"
	"deployer/tasks/control/drain"
)

// maxBlocked is the maximum number of pods that are named.
const maxBlocked = 20

// blockedPods returns the lines of planned drains about pods that cannot leave their node now, as
// in "n1: default/web-1  (PodDisruptionBudget ...)".
func blockedPods(effects []engine.Effect) []string {
	var out []string
	for _, e := range effects {
		if e.Kind != engine.EffectDrain {
			continue
		}
		for line := range strings.Lines(e.Diff) {
			if strings.Contains(line, drain.BlockedMark) {
				out = append(out, strings.TrimPrefix(strings.TrimSpace(line), "-"))
			}
		}
	}
	return out
}

// printBlockedPods prints pods because of which a drain would not end.
func printBlockedPods(w io.Writer, lines []string) {
	if len(lines) == 0 {
		return
	}
	slices.Sort(lines)
	fmt.Fprintln(w, "pods that cannot leave their node now, so that a drain waits for them and fails at its timeout:")
	for _, line := range lines[:min(len(lines), maxBlocked)] {
		fmt.Fprintf(w, "  %s\n", line)
	}
	if more := len(lines) - maxBlocked; more > 0 {
		fmt.Fprintf(w, "  and %d more\n", more)
	}
}

// drainWarnings collects the blocked pods of a dry run. It is an engine.Sink, safe for concurrent
// use.
type drainWarnings struct {
	mu    sync.Mutex
	lines []string
}

// Emit implements engine.Sink.
func (d *drainWarnings) Emit(e engine.Event) {
	if e.Type != engine.EventStepEnd || e.Result == nil || !e.Result.OnController || e.Result.Change == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, blockedPods(e.Result.Change.Effects)...)
}
