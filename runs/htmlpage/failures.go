package htmlpage

import (
	"maps"
	"slices"

	"deployer/engine"
	"deployer/engine/journal"
	"deployer/engine/view"
)

// Failure is a cause for which hosts left the run, with all hosts that have it.
type Failure struct {
	Step    string
	Hosts   []string
	More    int    // hosts that are not named
	Where   string // of a step that ran once for all hosts
	Message string
	Detail  string
	// Similar is true when the texts of the other hosts differ from the first.
	Similar     bool
	Unreachable bool
	Restored    string
}

// Count is the number of hosts.
func (f Failure) Count() int { return len(f.Hosts) + f.More }

// failures collects the failures of the report or, for a run without one, those of the
// hosts that left the run.
func (p *Page) failures(r *journal.Record) {
	var broken []engine.HostReport
	if r.Report != nil {
		broken = r.Report.Broken()
		for _, h := range r.Report.Hosts {
			if h.Cancelled && h.Failure == nil {
				p.NotFinished = append(p.NotFinished, h.Host)
			}
		}
	} else {
		for _, host := range slices.Sorted(maps.Keys(r.Parked)) {
			broken = append(broken, engine.HostReport{Host: host, Failure: &engine.Failure{Message: r.Parked[host]}})
		}
	}
	type cause struct {
		step, message, restored string
		runOnce, unreachable    bool
	}
	index := map[cause]int{}
	for _, h := range broken {
		restored := ""
		if h.Restored != nil {
			restored = h.Restored.String()
		}
		key := cause{h.FailedStep, view.NormalizeHosts(h.Host, h.Failure.Message), restored, h.RunOnce, h.Unreachable}
		i, known := index[key]
		if !known {
			i = len(p.Failures)
			index[key] = i
			f := Failure{Step: h.FailedStep, Message: h.Failure.Message, Detail: last(h.Failure.Detail), Unreachable: h.Unreachable, Restored: restored}
			if h.RunOnce {
				f.Where = h.Host
			}
			p.Failures = append(p.Failures, f)
		}
		p.Failures[i].add(h)
	}
	if n := len(p.Failures); n > maxFailures {
		p.MoreFailures = n - maxFailures
		p.Failures = p.Failures[:maxFailures]
	}
}

func (f *Failure) add(h engine.HostReport) {
	f.Similar = f.Similar || h.Failure.Message != f.Message
	if len(f.Hosts) == maxNames {
		f.More++
		return
	}
	f.Hosts = append(f.Hosts, h.Host)
}

// last returns the end of a text, which has the cause.
func last(text string) string {
	if len(text) <= maxDetail {
		return text
	}
	return "... " + text[len(text)-maxDetail:]
}
