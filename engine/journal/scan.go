package journal

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"deployer/engine"
)

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
