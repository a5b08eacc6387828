package agent

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// stateFormat is the number of the format in which this agent writes its state
// directory: the journal and the backup log of a run, the pending handlers and the
// run lock. Files without a number are of format 0, which differs from 1 by the
// missing number and, for handlers, by one name a line instead of JSON.
//
// A format that changes gets the next number, a reader for the one before, and a
// directory in testdata with files of it.
const stateFormat = 1

// formatLine is the first line of files of JSON Lines.
type formatLine struct {
	Format int `json:"format"`
}

// formatError is the error for a file of an unknown format.
type formatError struct {
	path   string
	format int
}

func (e *formatError) Error() string {
	return fmt.Sprintf("%s has format %d, and this version of deployer knows formats up to %d: a newer deployer has written it; use that version", e.path, e.format, stateFormat)
}

// isFormatLine reports whether a line is a format line. An unknown format is an
// error.
func isFormatLine(path string, line []byte) (bool, error) {
	var head struct {
		Format *int `json:"format"`
	}
	if json.Unmarshal(line, &head) != nil || head.Format == nil {
		return false, nil //nolint:nilerr // another kind of line, or one that a power cut truncated
	}
	if *head.Format < 1 || *head.Format > stateFormat {
		return false, &formatError{path, *head.Format}
	}
	return true, nil
}

// knownFormats returns an error when any run has left files of an unknown format: a
// revert would miss changes that they record.
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

// knownFormat checks the first line of a file. A missing file is fine.
func knownFormat(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return nil //nolint:nilerr // the reader of the file reports the error
	}
	defer func() { _ = f.Close() }()
	line, err := bufio.NewReaderSize(f, 256).ReadSlice('\n')
	if err != nil {
		return nil //nolint:nilerr // empty, or longer than a line with a format
	}
	_, err = isFormatLine(path, line)
	return err
}

// openLines opens a file of JSON Lines for appending. A new file gets the format
// line; an unknown format is an error.
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

// beginLines writes the format line of an empty file, or checks that of another.
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
