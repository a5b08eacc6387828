package schedule

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"deployer/engine"
)

// beforeRollout is a step of each host in front of the rollout.
const beforeRollout = `
- hosts: all
  tasks:
    - {name: certificates, do: {}}
    - {name: all have them, do: {}, barrier: true}
    - name: settings
      rollout: {canary: [minions], max_parallel: 1}
      block:
        - {name: config, do: {}}
        - {name: healthy, gate: {}}
    - {name: after, do: {}}
`

// TestStaysNamesWhatWasNotRestored: a report names each step whose change is still on a host,
// also on hosts that have not failed, and no step that the rollout has restored.
func TestStaysNamesWhatWasNotRestored(t *testing.T) {
	for name, c := range map[string]struct {
		hosts      map[string]bool // that fail with the change
		stuck      bool
		check      bool
		outcome    engine.Outcome
		config     int  // hosts on which the step of the rollout stays
		everywhere bool // the step in front of it stays on all hosts
	}{
		"restored":                {hosts: map[string]bool{"n1": true, "n2": true, "n3": true}, outcome: engine.OutcomeRestored, everywhere: true},
		"not restored":            {hosts: map[string]bool{"n1": true, "n2": true, "n3": true}, stuck: true, outcome: engine.OutcomeAborted, config: 1, everywhere: true},
		"after a good host":       {hosts: map[string]bool{"n2": true}, outcome: engine.OutcomeRestored, config: -1, everywhere: true},
		"complete":                {outcome: engine.OutcomeDone},
		"a check changes nothing": {hosts: map[string]bool{"n1": true}, check: true, outcome: engine.OutcomeDone},
	} {
		w := newRolloutHosts()
		w.task, w.allergy = ".3", c.hosts
		if c.stuck {
			w.stuck = c.hosts
		}
		s := rolled(w, 0, 3)
		s.fleet.onSegment = func(host string, check bool, step engine.Step) string {
			if step.Name == "certificates" {
				return "change"
			}
			return w.step(host, check, step)
		}
		s.opts = func(o *Options) { o.CheckOnly = c.check }
		r := s.run(t, t.Context(), beforeRollout)
		if r.Outcome() != c.outcome {
			t.Errorf("%s: outcome %q: %s\n%s", name, r.Outcome(), r.Aborted, summary(r))
		}
		on := map[string][]string{}
		for _, stay := range r.Stays {
			on[stay.Step] = stay.Hosts
		}
		if got := slices.Equal(on["certificates"], []string{"n1", "n2", "n3"}); got != c.everywhere {
			t.Errorf("%s: certificates stay on %v", name, on["certificates"])
		}
		if c.config < 0 {
			c.config = len(w.new) // hosts that have proved the change
		}
		if len(on["config"]) != c.config || len(on) > 2 {
			t.Errorf("%s: %v stays, want config on %d hosts", name, r.Stays, c.config)
		}
		for _, host := range on["config"] {
			if !w.new[host] {
				t.Errorf("%s: config stays on %s, where it was restored", name, host)
			}
		}
		if strings.Contains(fmt.Sprint(r.Stays), "healthy") {
			t.Errorf("%s: a gate changes nothing: %v", name, r.Stays)
		}
	}
}
