package schedule

import (
	"context"
	"errors"
	"strings"
	"testing"

	"deployer/engine"
)

// TestTextsOfActionsAreSanitized checks that what an action got from a server on a host, such as
// the API server of a hostile master, reaches events and registered results without escape
// sequences.
func TestTextsOfActionsAreSanitized(t *testing.T) {
	const evil = "answer\x1b[2J"
	s := of(1)
	s.fleet.action = func(_ context.Context, name string, _ map[string]any, actx engine.ActionContext) (engine.Output, error) {
		actx.Progress(evil)
		if name == "fails" {
			return nil, errors.New(evil + "\n" + evil)
		}
		return engine.Output{"text": evil, "list": []any{evil}}, nil
	}
	report := s.run(t, t.Context(), `
- hosts: all
  tasks:
    - {name: act, act: {name: x}, register: it}
    - {name: show, do: {text: "{{ it.text }} {{ it.list[0] }}"}}
    - {name: command, act: {name: x, runs: "say \e[2J"}}
    - {name: fails, act: {name: fails}}
`)
	if got := strings.Join(s.fleet.of("h1"), ","); got != "show answer answer" {
		t.Errorf("the next step has %q", got)
	}
	if f := report.Hosts[0].Failure; f == nil || f.Message != "answer" || f.Detail != "answer" {
		t.Errorf("failure %+v", f)
	}
	for _, e := range s.fleet.events {
		if strings.Contains(e.Text, "\x1b") || e.Result != nil && e.Result.Change != nil && len(e.Result.Change.Effects) > 0 && strings.Contains(e.Result.Change.Effects[0].Target, "\x1b") {
			t.Errorf("%+v", e)
		}
	}
}
