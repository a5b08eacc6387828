package journal

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"syscall"
	"time"

	"deployer/engine"
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

	seen map[string]bool // members of Hosts
}

// Read reads a journal. A last line that a kill truncated is left out.
func Read(path string) (*Record, error) {
	r := &Record{Results: map[engine.Status]int{}, Open: map[string][]string{}, Names: map[string]string{}, Parked: map[string]string{}, seen: map[string]bool{}}
	seen := false
	err := Scan(path, func(h *Header, e *engine.Event) error {
		if h != nil {
			r.Header, r.Last, seen = *h, h.Started, true
			return nil
		}
		r.event(e)
		return nil
	})
	if err != nil && !errors.As(err, &r.Damaged) {
		return nil, err
	}
	if !seen {
		return nil, errors.Join(fmt.Errorf("reading %s: it has no header, so it is not the log of a run", path), err)
	}
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
	}
	switch e.Type {
	case engine.EventStepStart:
		r.Open[e.Host] = append(r.Open[e.Host], e.Step)
		r.Names[e.Step] = e.Name
	case engine.EventStepEnd:
		if e.Result != nil {
			r.Results[e.Result.Status]++
			if e.Result.Status == engine.StatusFailed && e.Result.Change != nil && len(e.Result.Change.Pending()) > 0 {
				r.FailedChanges++
			}
		}
		r.Open[e.Host] = slices.DeleteFunc(r.Open[e.Host], func(s string) bool { return s == e.Step })
		if len(r.Open[e.Host]) == 0 {
			delete(r.Open, e.Host)
		}
	case engine.EventHostParked:
		r.Parked[e.Host] = e.Text
	case engine.EventRunEnd:
		r.Report = e.Report
	}
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

// DamagedError says that lines of a journal are not valid: a power cut can leave
// zeros in place of lines.
type DamagedError struct {
	Path  string
	Line  int // number of the first damaged line
	Count int
	Err   error // of the first damaged line
}

func (e *DamagedError) Error() string {
	more := ""
	if e.Count > 1 {
		more = fmt.Sprintf(", and %d more", e.Count-1)
	}
	return fmt.Sprintf("%s:%d: damaged line of a run's log%s: %v", e.Path, e.Line, more, e.Err)
}

func (e *DamagedError) Unwrap() error { return e.Err }

// Scan calls on for the header and each event of a journal, in order. An error of on
// ends the scan and is returned. Damaged lines are skipped, and reported as a
// *DamagedError at the end.
func Scan(path string, on func(*Header, *engine.Event) error) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("reading the log of a run: %w", err)
	}
	defer f.Close()
	var damaged *DamagedError
	in := bufio.NewReaderSize(f, 64<<10)
	for n := 1; ; n++ {
		text, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) { // a rest without line end was truncated
			if damaged != nil {
				return damaged
			}
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading the log of a run: %w", err)
		}
		if n == 1 {
			if err := KnownFormat(path, text); err != nil {
				return err
			}
		}
		var l line
		err = json.Unmarshal(text, &l)
		if err == nil && l.Header == nil && l.Event == nil {
			err = errors.New("neither a header nor an event")
		}
		if err != nil {
			if damaged == nil {
				damaged = &DamagedError{Path: path, Line: n, Err: err}
			}
			damaged.Count++
			continue
		}
		complete(l.Event)
		if err := on(l.Header, l.Event); err != nil {
			return err
		}
	}
}

// KnownFormat returns a *FormatError for the line of a header of an unknown format.
func KnownFormat(path string, header []byte) error {
	var head struct {
		Header struct {
			Format int `json:"format"`
		} `json:"header"`
	}
	if json.Unmarshal(header, &head) == nil && (head.Header.Format < 0 || head.Header.Format > Format) {
		return &FormatError{path, head.Header.Format}
	}
	return nil
}

// complete restores the fields of a result that its line left out.
func complete(e *engine.Event) {
	if e == nil || e.Result == nil {
		return
	}
	if r := e.Result; r.Host == "" && r.Step == "" && r.Name == "" {
		r.Host, r.Step, r.Name = e.Host, e.Step, e.Name
	}
}
