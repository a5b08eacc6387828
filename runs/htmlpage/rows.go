package htmlpage

import (
	"fmt"
	"strings"
	"time"

	"deployer/engine"
	"deployer/runs/timeline"
)

// StepRow is a step of the run on all hosts.
type StepRow struct {
	Title, ID string
	Hosts     int
	Counts    string
	Failed    bool
	Longest   string
	Slowest   string // the host
	Total     string
}

// WaitRow are the waits for one thing that one host caused.
type WaitRow struct {
	For, Kind, Cause string
	Hosts            int
	Total, Longest   string
}

// CauseRow is a host for which others waited.
type CauseRow struct {
	Host  string
	Waits int
	Total string
}

// HostRow is one host.
type HostRow struct {
	Name, State                 string
	Broken                      bool
	Counts, Steps, Waited, Last string
}

// counts returns the number of steps by outcome, as text.
func counts(by map[timeline.Outcome]int) string {
	var out []string
	for _, how := range timeline.Outcomes() {
		if n := by[how]; n > 0 {
			out = append(out, fmt.Sprintf("%d %s", n, how))
		}
	}
	return strings.Join(out, ", ")
}

func newStepRow(s *timeline.Step) StepRow {
	return StepRow{Title: s.Title(), ID: s.ID, Hosts: s.Hosts, Counts: counts(s.Counts), Longest: clock(s.Longest), Slowest: s.Slowest, Total: clock(s.Total),
		Failed: s.Counts[timeline.Outcome(engine.StatusFailed)]+s.Counts[timeline.Outcome(engine.StatusUnreachable)] > 0}
}

func newHostRow(h *timeline.Host) HostRow {
	var steps time.Duration
	for _, s := range h.Spans {
		steps += s.To - s.From
	}
	state := "completed"
	switch {
	case h.Parked != "":
		state = "left the run"
	case h.Broken():
		state = "failed"
	case h.Counts[timeline.Open] > 0:
		state = "in a step"
	}
	return HostRow{Name: h.Name, State: state, Broken: h.Broken(), Counts: counts(h.Counts), Steps: clock(steps), Waited: clock(h.Waited()), Last: clock(h.Last)}
}

func (p *Page) waits(t *timeline.Timeline) {
	all := t.WaitsByCause()
	p.MoreWaits = max(len(all)-maxWaits, 0)
	for _, w := range all[:min(len(all), maxWaits)] {
		p.Waits = append(p.Waits, WaitRow{For: w.For, Kind: string(w.Kind), Cause: w.Cause, Hosts: w.Hosts, Total: clock(w.Total), Longest: clock(w.Longest)})
	}
	causes := t.Causes()
	for _, c := range causes[:min(len(causes), maxCauses)] {
		p.Causes = append(p.Causes, CauseRow{c.Host, c.Waits, clock(c.Total)})
	}
}

// clock formats a duration: 12ms, 0.3s, 3m07s, 1h02m.
func clock(d time.Duration) string {
	switch {
	case d < 100*time.Millisecond:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
}
