package schedule

import (
	"context"
	"testing"

	"deployer/engine"
)

// TestResultsOfActionsAreMarked: sinks tell the output of an action from that of a module, which a
// hostile host writes as it likes.
func TestResultsOfActionsAreMarked(t *testing.T) {
	s := of(2)
	s.fleet.action = func(context.Context, string, map[string]any, engine.ActionContext) (engine.Output, error) {
		return engine.Output{"of": "controller"}, nil
	}
	s.run(t, t.Context(), `
- hosts: all
  tasks:
    - {name: module, do: {}}
    - {name: delegated, do: {}, delegate_to: h1}
    - {name: action, act: {name: x}}
    - {name: once, act: {name: x}, run_once: true}
    - {name: loop, act: {name: x}, loop: [1, 2]}
`)
	marked := map[string]int{}
	for _, e := range s.fleet.events {
		if out := e.ActionOutput(); out["of"] == "controller" {
			marked[e.Name]++
		} else if out != nil || e.Result != nil && e.Result.OnController {
			t.Errorf("%s counts as an action", e.Name)
		}
	}
	if marked["action"] != 2 || marked["once"] != 1 || marked["module"]+marked["delegated"] != 0 || len(marked) < 3 {
		t.Errorf("marked: %v", marked)
	}
}
