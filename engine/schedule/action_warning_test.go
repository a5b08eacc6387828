package schedule

import (
	"context"
	"strings"
	"testing"

	"deployer/engine"
	display "deployer/engine/view"
)

// TestWarningsOfActions: a warning of an action is in the plain output without -v, without escape
// sequences, and names the host unless the action is for all.
func TestWarningsOfActions(t *testing.T) {
	s := of(2)
	s.fleet.action = func(_ context.Context, name string, _ map[string]any, actx engine.ActionContext) (engine.Output, error) {
		actx.Warn("of " + name + "\x1b[2J")
		return nil, nil
	}
	s.run(t, t.Context(), `
- hosts: all
  tasks:
    - {name: each, act: {name: each}}
    - {name: all, act: {name: all}, run_once: true}
    - {name: secret, act: {name: secret}, secret: true}
`)
	var out strings.Builder
	plain := display.Lines(&out, display.Options{Hosts: []string{"h1", "h2"}})
	for _, e := range s.fleet.events {
		plain.Emit(e)
	}
	plain.Close()
	for text, want := range map[string]int{"warning: h1 of each\n": 1, "warning: h2 of each\n": 1, "warning: of all\n": 1, "of secret": 0, "\x1b": 0} {
		if got := strings.Count(out.String(), text); got != want {
			t.Errorf("%q %d times, want %d, in:\n%s", text, got, want, out.String())
		}
	}
}
