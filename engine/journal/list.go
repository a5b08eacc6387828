package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"deployer/engine"
)

// List returns the runs in a directory, newest first. Runs that have ended have only
// their header and report: Hosts, Results, Open and Parked are empty.
// Files that cannot be read are left out; their errors are joined in the error,
// which comes with the other runs.
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
		r, err := readHeader(filepath.Join(dir, e.Name()))
		if err != nil {
			bad = append(bad, err)
			continue
		}
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b *Record) int { return a.Header.CompareNewest(b.Header) })
	return out, errors.Join(bad...)
}

// readHeader reads the first and the last line, or everything when the last line is
// not the end of the run.
func readHeader(path string) (*Record, error) {
	last, err := lastLine(path)
	if err != nil {
		return nil, err
	}
	var l line
	if json.Unmarshal(last, &l) != nil || l.Event == nil || l.Event.Type != engine.EventRunEnd || l.Event.Report == nil {
		return Read(path)
	}
	r := &Record{Last: l.Event.Time, Report: l.Event.Report}
	err = Scan(path, func(h *Header, _ *engine.Event) error {
		if h == nil {
			return fmt.Errorf("reading %s: it has no header, so it is not the log of a run", path)
		}
		r.Header = *h
		return errStopScan
	})
	if !errors.Is(err, errStopScan) {
		return nil, err
	}
	r.Outcome = r.outcome(false)
	return r, nil
}

// errStopScan ends a scan early.
var errStopScan = errors.New("stop the scan")

// lastLine returns the last complete line of a file.
func lastLine(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading the log of a run: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("reading the log of a run: %w", err)
	}
	for size := int64(64 << 10); ; size *= 8 { // a report has an entry for each host
		from := max(0, info.Size()-size)
		tail, err := io.ReadAll(io.NewSectionReader(f, from, info.Size()-from))
		if err != nil {
			return nil, fmt.Errorf("reading the log of a run: %w", err)
		}
		end := bytes.LastIndexByte(tail, '\n')
		if end >= 0 {
			tail = tail[:end]
		}
		begin := bytes.LastIndexByte(tail, '\n')
		if begin >= 0 || from == 0 {
			return tail[begin+1:], nil
		}
	}
}

// Find returns the run with an id, or with a unique prefix of one.
func Find(dir, run string) (*Record, error) {
	all, err := List(dir)
	var found []*Record
	for _, r := range all {
		if r.Header.Run == run {
			return Read(Path(dir, run))
		}
		if strings.HasPrefix(r.Header.Run, run) {
			found = append(found, r)
		}
	}
	switch {
	case len(found) == 1:
		return Read(Path(dir, found[0].Header.Run))
	case len(found) > 1:
		return nil, fmt.Errorf("run id %q is ambiguous: %d runs begin with it, such as %s and %s", run, len(found), found[0].Header.Run, found[1].Header.Run)
	}
	return nil, errors.Join(fmt.Errorf("there is no run %q in %s", run, dir), err)
}
