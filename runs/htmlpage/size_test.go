package htmlpage

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"deployer/engine"
	"deployer/engine/journal"
	"deployer/runs/timeline"
)

// maxSize is the size of a page of 1000 hosts with 300 steps each that a browser opens at
// once and mail servers take.
const maxSize = 10_000_000

// largeRun calls add with the events of a run of hosts with steps, with a barrier every 50
// steps, turns, and failures.
func largeRun(hosts, steps int, add func(engine.Event)) *engine.Report {
	report := &engine.Report{Run: "20261123-080000.000"}
	clocks := make([]float64, hosts)
	name := func(h int) string { return fmt.Sprintf("node-%04d.example.com", h) }
	for h := range hosts {
		clocks[h] = 0.5 + float64(h%50)/10
		add(engine.Event{Time: second(clocks[h]), Type: engine.EventHostUp, Host: name(h)})
		report.Hosts = append(report.Hosts, engine.HostReport{Host: name(h)})
	}
	now := 6.0
	for s := range steps {
		if s%50 == 49 {
			slowest := 0
			for h := range hosts {
				if clocks[h] > clocks[slowest] {
					slowest = h
				}
			}
			for h := range hosts {
				if h != slowest {
					add(wait(clocks[h], name(h), fmt.Sprintf("the barrier in play \"play %d\": %s", s/50, name(slowest))))
				}
			}
			now = clocks[slowest] + 0.01
			for h := range hosts {
				if h != slowest {
					add(wait(now, name(h), ""))
				}
				clocks[h] = now
			}
		}
		for h := range hosts {
			took := 0.02 + float64((h*7919+s*104729)%1000)/4000
			if (h+s)%977 == 0 {
				took += 8
			}
			status := engine.StatusOK
			if (h+s)%5 == 0 {
				status = engine.StatusChanged
			}
			clocks[h] += took + 0.003
			e := end(clocks[h], name(h), fmt.Sprintf("%d.role%d.%d", s/50+1, s/10, s), fmt.Sprintf("step number %d of the playbook", s), took, status)
			if h%211 == 5 && s == steps-1 {
				e.Result.Status, e.Result.Failure = engine.StatusFailed, &engine.Failure{Message: name(h) + ": unit web.service failed", Detail: "exit code 1"}
				report.Hosts[h].Failure, report.Hosts[h].FailedStep, report.Hosts[h].Failed = e.Result.Failure, e.Name, 1
			}
			add(e)
			now = max(now, clocks[h])
		}
	}
	report.Elapsed = time.Duration(now * float64(time.Second))
	add(engine.Event{Time: second(now), Type: engine.EventRunEnd, Report: report})
	return report
}

// TestSize makes the page of 1000 hosts with 300 steps. DEPLOYER_PAGE names a file that keeps
// the page, for a look at it in a browser.
func TestSize(t *testing.T) {
	t.Parallel()
	c := timeline.NewCollector(start)
	var events []engine.Event
	report := largeRun(1000, 300, func(e engine.Event) { events = append(events, e) })
	slices.SortStableFunc(events, func(a, b engine.Event) int { return a.Time.Compare(b.Time) })
	for _, e := range events {
		c.Add(e)
	}
	r := &journal.Record{Header: journal.Header{Run: report.Run, Started: start, By: "ops@admin"}, Report: report, Outcome: report.Outcome()}
	p := New(r, c.Timeline(nil), "deployer run site.yaml -i inventory.yaml")
	var out bytes.Buffer
	if err := p.Write(&out); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes", out.Len())
	if out.Len() > maxSize {
		t.Errorf("the page has %d bytes, want at most %d", out.Len(), maxSize)
	}
	if len(p.Lanes.Hosts) != 1000 || len(p.Lanes.Hosts[0].Spans) != 4*300 || len(p.Path) == 0 || len(p.Path) > maxPathRows || len(p.Slowest) != maxSlowest {
		t.Errorf("%d lanes, %d rows of the critical path, %d slowest steps", len(p.Lanes.Hosts), len(p.Path), len(p.Slowest))
	}
	if file := os.Getenv("DEPLOYER_PAGE"); file != "" {
		if err := os.WriteFile(file, out.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
