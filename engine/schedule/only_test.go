package schedule

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
)

// TestOnlyHosts: a host passes tasks of other hosts without an event, and does not
// delay the hosts that wait behind them.
func TestOnlyHosts(t *testing.T) {
	s := of(3)
	prog := s.compile(t, `
- hosts: all
  tasks:
    - {name: a, do: {do: change}}
    - throttle: 1
      block:
        - {name: b, do: {do: change}, notify: h, label: passed}
    - {name: c, do: {}, needs: passed}
  handlers: [{name: h, do: {}}]
`)
	prog.Tasks[0].OnlyHosts = map[string]bool{"h2": true}
	for _, op := range prog.Ops {
		if op.Block != nil {
			op.Block.OnlyHosts = map[string]bool{"h1": true, "h2": true}
		}
	}
	prog.Plays[0].Handlers[0].OnlyHosts = map[string]bool{"h1": true}
	report, err := Run(t.Context(), prog, s.options())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{"h1": {"b", "c", "h"}, "h2": {"a", "b", "c"}, "h3": {"c"}}
	for host, steps := range want {
		if diff := cmp.Diff(steps, s.fleet.of(host)); diff != "" {
			t.Errorf("%s: %s", host, diff)
		}
	}
	if len(report.Broken()) > 0 || report.Aborted != "" {
		t.Error(summary(report))
	}
	for _, e := range s.fleet.events {
		if e.Type == engine.EventStepEnd && e.Result.Status == engine.StatusSkipped {
			t.Errorf("%s is told about on %s", e.Name, e.Host)
		}
	}
}
