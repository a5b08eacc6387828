//go:build lab

package e2e

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"deployer/test/harness"
	"deployer/test/lab/plan"
)

// webHosts are the hosts of TestPlaybooks.
var webHosts = []string{"h1", "h2", "h3"}

// TestPlaybooks runs user playbooks on three hosts with nginx: the examples; plan,
// apply, revert and resume; the run lock; exec, facts and fetch; hostile users, full
// disks and interrupted commands.
func TestPlaybooks(t *testing.T) {
	s := newSite(t, plan.Spec{Hosts: 3})
	s.Edit(func(inv map[string]any) { harness.Section(inv, "groups", "web")["hosts"] = "h[1:3]" })
	for _, part := range []struct {
		name string
		run  func(*site)
	}{
		{"exec", execSharesOutput},
		{"facts", factsMatchHost},
		{"fetch", fetchFiles},
		{"example nginx-site", exampleSite},
		{"example users", exampleUsers},
		{"example canary", exampleCanary},
		{"example rollout-in-steps", exampleRolloutInSteps},
		{"example rolling-restart", exampleRollingRestart},
		{"a rolling restart stops at bad health", rollingRestartStops},
		{"a rolling restart stops at a failed restart", failedRestartStops},
		{"a change cuts a host off", cutOff},
		{"plan, apply, revert, resume", planToRevert},
		{"two runs at once", concurrentRuns},
		{"the lock of a killed run", killedController},
		{"links of a user", linksOfUsers},
		{"an interrupted command", interruptedCommand},
		{"an old file without room", backupOnFullDisk},
	} {
		t.Run(part.name, func(t *testing.T) { part.run(s.on(t)) })
	}
}

// example returns the path of a playbook below examples.
func example(name string) string { return filepath.Join("../../examples", name, "playbook.yaml") }

// runTwice runs a playbook two times; the second run changes nothing.
func (s *site) runTwice(args ...string) {
	s.T.Helper()
	s.Must(args...)
	events, r := s.Events(s.Must(append(args, "--output", "json")...))
	if len(r.Hosts) != len(webHosts) || r.Changed() != 0 {
		s.T.Errorf("the second run of %v: %d hosts, changed %v; want %d hosts and no change", args, len(r.Hosts), harness.ChangedSteps(events), len(webHosts))
	}
}

// span is a time during which a service was down.
type span struct {
	host     string
	from, to time.Time
}

// restarts returns the times from the stop of a unit to its next start, on all hosts
// since a time, in the order of the stops. The hosts share this machine's clock.
func (s *site) restarts(unit string, since time.Time) []span {
	s.T.Helper()
	var all []span
	for _, host := range webHosts {
		down := time.Time{}
		for line := range strings.Lines(s.Shell(host, "journalctl --sync; journalctl -q -o json --output-fields=MESSAGE -u "+unit)) {
			var entry struct {
				Time    string `json:"__REALTIME_TIMESTAMP"`
				Message string `json:"MESSAGE"`
			}
			if err := json.Unmarshal([]byte(line), &entry); err != nil {
				s.T.Fatalf("%s: %q: %v", host, line, err)
			}
			usec, err := strconv.ParseInt(entry.Time, 10, 64)
			if err != nil {
				s.T.Fatal(err)
			}
			switch at := time.UnixMicro(usec); {
			case at.Before(since):
			case strings.HasPrefix(entry.Message, "Stopping "):
				down = at
			case strings.HasPrefix(entry.Message, "Started ") && !down.IsZero():
				all = append(all, span{host, down, at})
				down = time.Time{}
			}
		}
	}
	slices.SortFunc(all, func(a, b span) int { return a.from.Compare(b.from) })
	return all
}

// requireOneByOne checks that since a time the unit was restarted once on each of
// these hosts, in any order, and was never down on two of them at the same time.
func (s *site) requireOneByOne(unit string, since time.Time, hosts ...string) {
	s.T.Helper()
	spans := s.restarts(unit, since)
	var order []string
	for i, sp := range spans {
		order = append(order, sp.host)
		if i > 0 && sp.from.Before(spans[i-1].to) {
			s.T.Errorf("%s was down on %s and %s at one time: %v", unit, spans[i-1].host, sp.host, spans)
		}
	}
	slices.Sort(order)
	if !slices.Equal(order, hosts) {
		s.T.Errorf("%s was restarted on %v, want once on each of %v", unit, order, hosts)
	}
}
