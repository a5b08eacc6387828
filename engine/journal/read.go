package journal

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"deployer/engine"
)

// Outcome is how a run ended.
type Outcome string

// The outcomes.
const (
	Running     Outcome = "running"
	Complete    Outcome = "complete"    // came to its end; hosts may have failed
	Aborted     Outcome = "aborted"     // ended early, because too much failed
	Interrupted Outcome = "interrupted" // the user stopped it
	Killed      Outcome = "killed"      // ended without a word
)

// Record is what a journal says of a run.
type Record struct {
	Header  Header
	Outcome Outcome
	// Last is the time of the last event.
	Last time.Time
	// Report is that of the end; nil when there was none.
	Report *engine.Report
	// Results counts the steps that ended, by status.
	Results map[engine.Status]int
	// Open are the steps that were told to have begun and not ended, by host. After a kill
	// they may have been done on the host; the next run finds out.
	Open map[string][]string
	// Parked says why hosts were taken out.
	Parked map[string]string
}

// Read reads a journal. A last line that was cut short by a kill is left out.
func Read(path string) (*Record, error) {
	r := &Record{Results: map[engine.Status]int{}, Open: map[string][]string{}, Parked: map[string]string{}}
	seen := false
	err := Scan(path, func(h *Header, e *engine.Event) error {
		if h != nil {
			r.Header, r.Last, seen = *h, h.Started, true
			return nil
		}
		r.event(e)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if !seen {
		return nil, fmt.Errorf("%s is no log of a run: it has no header", path)
	}
	alive, err := locked(path)
	if err != nil {
		return nil, err
	}
	r.Outcome = r.outcome(alive)
	return r, nil
}

func (r *Record) event(e *engine.Event) {
	r.Last = e.Time
	switch e.Type {
	case engine.StepStart:
		r.Open[e.Host] = append(r.Open[e.Host], e.Step)
	case engine.StepEnd:
		if e.Result != nil {
			r.Results[e.Result.Status]++
		}
		r.Open[e.Host] = slices.DeleteFunc(r.Open[e.Host], func(s string) bool { return s == e.Step })
		if len(r.Open[e.Host]) == 0 {
			delete(r.Open, e.Host)
		}
	case engine.HostParked:
		r.Parked[e.Host] = e.Text
	case engine.RunEnd:
		r.Report = e.Report
	}
}

func (r *Record) outcome(alive bool) Outcome {
	switch {
	case r.Report == nil && alive:
		return Running
	case r.Report == nil:
		return Killed
	case r.Report.Interrupted:
		return Interrupted
	case r.Report.Aborted != "":
		return Aborted
	}
	return Complete
}

// locked tells whether the run that writes the file still lives.
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
		return false, fmt.Errorf("looking at the lock of %s: %w", path, err)
	}
	return false, nil // closing gives the lock up
}

// Scan calls on for the header and each event of a journal, in order. An error
// of on ends it and is returned.
func Scan(path string, on func(*Header, *engine.Event) error) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("reading the log of a run: %w", err)
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 64<<10)
	for n := 1; ; n++ {
		text, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil // what is left has no end of line: it was cut short
		}
		if err != nil {
			return fmt.Errorf("reading the log of a run: %w", err)
		}
		var l line
		if err := json.Unmarshal(text, &l); err != nil {
			return fmt.Errorf("%s:%d: not a line of a run's log: %w", path, n, err)
		}
		if l.Header == nil && l.Event == nil {
			continue // of another version
		}
		if err := on(l.Header, l.Event); err != nil {
			return err
		}
	}
}

// List returns the runs of a directory, newest first. Files that cannot be
// read are left out and reported in the error, beside the others.
func List(dir string) ([]*Record, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the directory of run logs: %w", err)
	}
	var out []*Record
	var bad []error
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), suffix) {
			continue
		}
		r, err := Read(filepath.Join(dir, e.Name()))
		if err != nil {
			bad = append(bad, err)
			continue
		}
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b *Record) int { return b.Header.Started.Compare(a.Header.Started) })
	return out, errors.Join(bad...)
}
