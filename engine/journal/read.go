package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"syscall"
	"time"

	"deployer/engine"
	"deployer/engine/jsonappend"
)

// Outcomes of runs without a report. All other outcomes come from the report.
const (
	Running engine.Outcome = "running"
	Killed  engine.Outcome = "killed" // the process ended without a report
)

// Record is the content of a journal.
type Record struct {
	Header  Header
	Outcome engine.Outcome
	// Hosts are the hosts with events: in inventory order after the end of the run,
	// before that in the order of their first events.
	Hosts []string
	// Last is the time of the last event.
	Last time.Time
	// Report is the report at the end; nil when there was none.
	Report *engine.Report
	// Results counts the steps that ended, by status.
	Results map[engine.Status]int
	// FailedChanges counts the steps that failed while they changed something.
	FailedChanges int
	// Open are the steps that have begun and not ended, by host. After a kill they may
	// have been completed on the host; the next run checks.
	Open map[string][]string
	// Names are the names of steps that have begun, by id.
	Names map[string]string
	// Parked are the hosts that were taken out of the run, with the reason.
	Parked map[string]string
	// Damaged is set when lines could not be decoded; they are missing above.
	Damaged *DamagedError

	seen   map[string]bool           // members of Hosts
	open   map[string]map[string]int // by host: steps of Open, with the number of their start
	starts int                       // number of steps that have begun
	weight int                       // of texts above, in bytes
}

// MaxNames is the memory of the hosts, steps and reasons of a Record in bytes. A run of 1000
// hosts takes some 2 MiB.
const MaxNames = 64 << 20

// Read reads a journal. A last line that a kill truncated is left out. A journal with more
// than MaxNames bytes of names, which can only be a copy from a hostile host, is an error.
func Read(path string) (*Record, error) {
	r := &Record{Results: map[engine.Status]int{}, Open: map[string][]string{}, Names: map[string]string{}, Parked: map[string]string{},
		seen: map[string]bool{}, open: map[string]map[string]int{}}
	seen := false
	err := Scan(path, func(h *Header, e *engine.Event) error {
		if h != nil {
			r.Header, r.Last, seen = *h, h.Started, true
			return nil
		}
		if r.event(e); r.weight > MaxNames {
			return fmt.Errorf("reading %s: it has more than %d MiB of names of hosts and steps", path, MaxNames>>20)
		}
		return nil
	})
	if err != nil && !errors.As(err, &r.Damaged) {
		return nil, err
	}
	if !seen {
		return nil, errors.Join(fmt.Errorf("reading %s: it has no header, so it is not the log of a run", path), err)
	}
	r.listOpen()
	alive, err := locked(path)
	if err != nil {
		return nil, err
	}
	r.Outcome = r.outcome(alive)
	if r.Report != nil { // in inventory order
		r.Hosts = r.Hosts[:0]
		for _, h := range r.Report.Hosts {
			r.Hosts = append(r.Hosts, h.Host)
		}
	}
	return r, nil
}

func (r *Record) event(e *engine.Event) {
	r.Last = e.Time
	if e.Host != "" && !r.seen[e.Host] {
		r.seen[e.Host] = true
		r.Hosts = append(r.Hosts, e.Host)
		r.weigh(e.Host)
	}
	switch e.Type {
	case engine.EventStepStart:
		r.beginStep(e)
	case engine.EventStepEnd:
		if e.Result != nil {
			if _, known := r.Results[e.Result.Status]; !known {
				r.weigh(string(e.Result.Status))
			}
			r.Results[e.Result.Status]++
			if e.Result.Status == engine.StatusFailed && e.Result.Change != nil && len(e.Result.Change.Pending()) > 0 {
				r.FailedChanges++
			}
		}
		r.endStep(e)
	case engine.EventHostParked:
		r.Parked[e.Host] = e.Text
		r.weigh(e.Text)
	case engine.EventRunEnd:
		r.Report = e.Report
	}
}

// beginStep notes the start of a step.
func (r *Record) beginStep(e *engine.Event) {
	if _, known := r.Names[e.Step]; !known {
		r.weigh(e.Step, e.Name)
	}
	r.Names[e.Step] = e.Name
	if r.open[e.Host] == nil {
		r.open[e.Host] = map[string]int{}
	}
	if _, begun := r.open[e.Host][e.Step]; !begun {
		r.starts++
		r.open[e.Host][e.Step] = r.starts
		r.weigh()
	}
}

// endStep notes the end of a step.
func (r *Record) endStep(e *engine.Event) {
	if _, begun := r.open[e.Host][e.Step]; !begun {
		return
	}
	delete(r.open[e.Host], e.Step)
	r.weight -= entryWeight
	if len(r.open[e.Host]) == 0 {
		delete(r.open, e.Host)
	}
}

// entryWeight is the memory of an entry of a mapping in bytes, without its texts.
const entryWeight = 100

// weigh adds the memory of an entry with texts to the weight.
func (r *Record) weigh(texts ...string) {
	r.weight += entryWeight
	for _, t := range texts {
		r.weight += len(t)
	}
}

// listOpen sets Open, in the order in which the steps have begun.
func (r *Record) listOpen() {
	for host, steps := range r.open {
		r.Open[host] = slices.SortedFunc(maps.Keys(steps), func(a, b string) int { return steps[a] - steps[b] })
	}
	r.seen, r.open = nil, nil
}

// Weight returns the memory of a record from Read in bytes: an estimate of what decoding its
// header, its names and its report has taken.
func (r *Record) Weight() int {
	weight := r.weight
	for _, part := range []any{r.Header, r.Report} {
		if text, err := json.Marshal(part); err == nil {
			weight += jsonappend.Weigh(text)
		}
	}
	return weight
}

func (r *Record) outcome(alive bool) engine.Outcome {
	switch {
	case r.Report != nil:
		return r.Report.Outcome()
	case alive:
		return Running
	}
	return Killed
}

// Finished reports whether the run has completed all its work.
func (r *Record) Finished() bool { return r.Outcome == engine.OutcomeDone }

// Elapsed returns the duration of the run, or of the part until its last event.
func (r *Record) Elapsed() time.Duration {
	if r.Report != nil {
		return r.Report.Elapsed
	}
	return r.Last.Sub(r.Header.Started)
}

// locked reports whether the run that writes the file is alive.
func locked(path string) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, fmt.Errorf("reading the log of a run: %w", err)
	}
	defer f.Close()
	err = flock(f, syscall.LOCK_SH)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("testing the lock of %s: %w", path, err)
	}
	return false, nil // Close releases the lock
}
