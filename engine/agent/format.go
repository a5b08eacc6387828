package agent

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// stateFormat is the number of the form in which this agent writes what it keeps in
// its state directory: the journal and the backups of a run, the handlers that have
// to run, and the lock of runs. Files without a number are of format 0, which
// differs from 1 only by that, and for handlers in a line each instead of JSON.
//
// A form that changes gets the next number, a reader for the one before, and a
// directory in testdata with files of it.
const stateFormat = 1

// formatLine is the first line of files of JSON Lines.
type formatLine struct {
	Format int `json:"format"`
}

// formatError is a file of a format that is not known.
type formatError struct {
	path   string
	format int
}

func (e *formatError) Error() string {
	return fmt.Sprintf("%s has the format %d and this version of deployer knows %d: a newer one has written it; use that one", e.path, e.format, stateFormat)
}

// isFormatLine reports whether a line is the one that has the format, and refuses
// formats that are not known.
func isFormatLine(path string, line []byte) (bool, error) {
	var head struct {
		Format *int `json:"format"`
	}
	if json.Unmarshal(line, &head) != nil || head.Format == nil {
		return false, nil //nolint:nilerr // another kind of line, or one that a power cut has left unfinished
	}
	if *head.Format < 1 || *head.Format > stateFormat {
		return false, &formatError{path, *head.Format}
	}
	return true, nil
}

// knownFormats refuses when a run has left files of a format that is not known:
// what they say of things that another run has changed too would be missed.
func (s *state) knownFormats() error {
	for _, run := range s.runs() {
		dir, err := s.runDir(run)
		if err != nil {
			continue // no directory of ours
		}
		for _, name := range []string{journalFile, backupLogFile} {
			if err := knownFormat(filepath.Join(dir, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// knownFormat looks at the first line of a file; one that is not there is known.
func knownFormat(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return nil //nolint:nilerr // whoever needs it finds out
	}
	defer func() { _ = f.Close() }()
	line, err := bufio.NewReaderSize(f, 256).ReadSlice('\n')
	if err != nil {
		return nil //nolint:nilerr // empty, or longer than a line with a format
	}
	_, err = isFormatLine(path, line)
	return err
}

// openLines opens a file of JSON Lines to append to it. A new one gets the line
// with the format; one of an unknown format is an error.
func openLines(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(restrictToOwner(f), beginLines(f)); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func beginLines(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Size() == 0 {
		raw, err := json.Marshal(formatLine{stateFormat})
		if err != nil {
			return err
		}
		_, err = f.Write(append(raw, '\n'))
		return err
	}
	return errors.Join(knownFormat(f.Name()), endLine(f))
}
