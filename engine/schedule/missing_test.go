package schedule

import (
	"errors"
	"strings"
	"testing"

	"deployer/engine"
	"deployer/limit"
)

// TestMissingHosts checks that hosts which were down before the run are in no budget,
// delay no host, are not connected to, and are in the report; and that another host
// of their group that fails still ends the run.
func TestMissingHosts(t *testing.T) {
	t.Parallel()
	const site = `
- hosts: all
  tasks:
    - {name: first, do: {}, barrier: true, run_once: true}
    - name: block
      rollout: {canary: [master, minion], max_parallel: 1}
      block:
        - {name: change, do: {}}
        - {name: healthy, gate: {}}
    - {name: last, do: {}, barrier: true}
`
	for name, c := range map[string]struct {
		broken  string // a host that cannot be reached, besides the missing ones
		outcome engine.Outcome
		aborted string
	}{
		"only the missing ones":    {"", engine.OutcomePartial, ""},
		"a master that breaks too": {"h2", engine.OutcomeAborted, `too many hosts of "master" failed: 1 of 2 (h2), allowed are 0`},
		"a minion that breaks too": {"h5", engine.OutcomeAborted, `too many hosts of "minion" failed: 1 of 1 (h5), allowed are 0`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := of(5)
			s.inv.groups = map[string][]string{"master": {"h1", "h2", "h3"}, "minion": {"h4", "h5"}}
			s.fleet.connect = func(host string, _ int) error {
				if host == c.broken {
					return errors.New("no route to " + host)
				}
				return nil
			}
			s.opts = func(o *Options) {
				o.Missing = map[string]string{"h1": "it was down", "h4": "it was down"}
				o.Budget = map[string]limit.Limit{"minion": {Percent: 50, Share: true}}
			}
			r := s.run(t, t.Context(), site)
			if r.Outcome() != c.outcome || !strings.Contains(r.Aborted, c.aborted) || c.aborted == "" && r.Aborted != "" {
				t.Errorf("%s, aborted %q\n%s", r.Outcome(), r.Aborted, summary(r))
			}
			for i, h := range r.Hosts {
				missing := h.Host == "h1" || h.Host == "h4"
				if missing != (h.Unreachable && h.Failure.Message == "it was down") || missing && s.fleet.tries[h.Host] > 0 {
					t.Errorf("host %d: %s, %d attempts to connect", i, summary(r), s.fleet.tries[h.Host])
				}
			}
		})
	}
}
