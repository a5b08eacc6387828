package runs

import (
	"slices"
	"strings"
	"testing"

	"deployer/engine"
)

// ended returns the event of a step that has ended.
func ended(host string, onController bool, out engine.Output) engine.Event {
	return engine.Event{Type: engine.EventStepEnd, Host: host, Result: &engine.Result{OnController: onController, Output: out}}
}

func listed(at, action, why string) map[string]any {
	return map[string]any{"time": at, "action": action, "object": "Node n1", "why": why, "result": "done"}
}

// TestKeepersActions: actions of files and of the status are one list in the order of their times, each once; a host
// speaks for its own keeper only, and its texts are short lines.
func TestKeepersActions(t *testing.T) {
	k := &Keepers{}
	k.Emit(ended("m1", false, engine.Output{"keeper_actions": []any{listed("2026-11-28T03:00:00Z", "Scale", "a"), listed("2026-11-28T03:02:00Z", "Purge", "\x1b[31m"+strings.Repeat("b", 5000)+"\nc")}}))
	k.Emit(ended("m2", false, engine.Output{"keeper_actions": []any{map[string]any{"time": "no time"}}}))
	k.Emit(ended("m2", false, engine.Output{"keepers": map[string]any{"m1": map[string]any{"done": []any{listed("2026-11-28T02:00:00Z", "Forged", "")}}}}))
	if k.State() != nil {
		t.Error("a host has given the status of the keepers")
	}
	k.Emit(ended("m1", true, engine.Output{"keepers": map[string]any{
		"m1": map[string]any{"done": []any{listed("2026-11-28T03:00:00Z", "Scale", "a")}},
		"m3": map[string]any{"done": []any{listed("2026-11-28T03:01:00Z", "Patch", "\x1b[2Jd")}},
	}}))
	var got []string
	for _, a := range k.State().Actions {
		got = append(got, a.Host+" "+a.Action)
		if len(a.Why) > maxText+3 || strings.ContainsAny(a.Why, "\x1b\n") {
			t.Errorf("%q", a.Why)
		}
	}
	if want := []string{"m1 Scale", "m3 Patch", "m1 Purge"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
