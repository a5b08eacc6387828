package htmlpage

import (
	"fmt"

	"deployer/engine"
	"deployer/engine/journal"
	"deployer/runs/timeline"
	"deployer/runs/timeline/timelog"
)

// Limits of the tables. The page says how many entries it leaves out.
const (
	maxSlowest   = 20
	maxWaits     = 30
	maxCauses    = 10
	maxPathRows  = 60
	maxNames     = 200     // hosts that a failure names
	maxDetail    = 8 << 10 // bytes of the text of an error, of which the end counts
	maxFailures  = 100
	pathFraction = 200 // parts of the critical path below a 200th of the run share a row
)

// Page has the contents of the page of a run.
type Page struct {
	Title   string
	Outcome string
	Good    bool // all hosts completed
	Facts   []Fact
	// Damaged says that lines of the log are missing; empty for none.
	Damaged  string
	Failures []Failure
	// MoreFailures is the number of failures that are left out.
	MoreFailures int
	NotFinished  []string // hosts that stopped because of others
	LeftOpen     []string
	Path         []PathRow
	PathRest     string // describes the parts that are left out; empty for none
	Slowest      []StepRow
	Waits        []WaitRow
	MoreWaits    int
	Causes       []CauseRow
	Steps        []StepRow
	Hosts        []HostRow
	Lanes        *Lanes
}

// Fact is a line of the head of the page.
type Fact struct{ Name, Value string }

// Open makes the page of a run whose log is at path; see New. Lines of the log that are
// damaged are left out, and the page says so.
func Open(r *journal.Record, path, command string) (*Page, error) {
	t, err := timelog.Read(r, path)
	if err != nil {
		return nil, err
	}
	return New(r, t, command), nil
}

// New makes the page of a run: command is its command line, without secrets.
func New(r *journal.Record, t *timeline.Timeline, command string) *Page {
	p := &Page{Title: "run " + r.Header.Run, Outcome: string(r.Outcome), Good: r.Finished()}
	if r.Damaged != nil {
		p.Damaged = r.Damaged.Error()
	}
	p.facts(r, t, command)
	p.failures(r)
	if r.Report != nil {
		p.LeftOpen = r.Report.LeftOpen
	}
	p.path(t)
	for _, s := range t.Slowest(maxSlowest) {
		p.Slowest = append(p.Slowest, newStepRow(s))
	}
	for _, s := range t.Steps {
		p.Steps = append(p.Steps, newStepRow(s))
	}
	p.waits(t)
	for _, h := range t.Hosts {
		p.Hosts = append(p.Hosts, newHostRow(h))
	}
	p.Lanes = newLanes(t)
	return p
}

func (p *Page) facts(r *journal.Record, t *timeline.Timeline, command string) {
	sum := t.HostTime()
	for _, f := range []Fact{
		{"Command", command},
		{"Started", r.Header.Started.UTC().Format("2006-01-02 15:04:05 UTC")},
		{"By", r.Header.By},
		{"Took", clock(t.Length)},
		{"Hosts", fmt.Sprint(len(t.Hosts))},
		{"Steps", counts(allCounts(t))},
		{"Reason", aborted(r.Report)},
		{"Resumes", r.Header.Resumes},
		{"Version", r.Header.Deployer},
		{"Time of all hosts", fmt.Sprintf("%s in steps, %s waiting for other hosts, %s between steps", clock(sum.Steps), clock(sum.Waits), clock(sum.Between))},
	} {
		if f.Value != "" {
			p.Facts = append(p.Facts, f)
		}
	}
}

func aborted(r *engine.Report) string {
	if r == nil {
		return ""
	}
	return r.Aborted
}

func allCounts(t *timeline.Timeline) map[timeline.Outcome]int {
	all := map[timeline.Outcome]int{}
	for _, h := range t.Hosts {
		for how, n := range h.Counts {
			all[how] += n
		}
	}
	return all
}
