//go:build lab

package harness

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Report is the part of the last event of `--output json` that tests read.
type Report struct {
	Hosts []struct {
		Host                   string
		OK, Changed, Failed    int
		Failure                *struct{ Message, Detail string }
		FailedStep             string `json:"failed_step"`
		Unreachable, Cancelled bool
	}
	Aborted     string
	Interrupted bool
}

// Changed returns the number of changed steps of all hosts.
func (r Report) Changed() (n int) {
	for _, h := range r.Hosts {
		n += h.Changed
	}
	return n
}

// Events decodes JSON Lines output.
func (s *Site) Events(o Outcome) (all []map[string]any, last Report) {
	s.T.Helper()
	for line := range strings.Lines(o.Stdout) {
		var e map[string]any
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			s.T.Fatalf("not a JSON line: %q: %v", line, err)
		}
		all = append(all, e)
		if e["type"] == "run.end" {
			var end struct{ Report Report }
			if err := json.Unmarshal([]byte(line), &end); err != nil {
				s.T.Fatal(err)
			}
			last = end.Report
		}
	}
	return all, last
}

// ChangedSteps returns the steps of a run that changed something, as "HOST NAME" in
// the order in which they ended.
func ChangedSteps(events []map[string]any) (steps []string) {
	for _, e := range events {
		if result, _ := e["result"].(map[string]any); e["type"] == "step.end" && result["status"] == "changed" {
			steps = append(steps, fmt.Sprint(e["host"], " ", e["name"]))
		}
	}
	return steps
}

// Run is an entry of `deployer runs list`.
type Run struct {
	Run, Verb, Outcome     string
	Hosts, Changed, Failed int
}

// LastRun returns the newest run in the list of runs.
func (s *Site) LastRun() Run {
	s.T.Helper()
	var all []Run
	if err := json.Unmarshal([]byte(s.Must("runs", "list", "-o", "json", "-n", "1").Stdout), &all); err != nil || len(all) != 1 {
		s.T.Fatalf("runs list: %v, %d runs", err, len(all))
	}
	return all[0]
}
