package statedir

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
)

// Format is the number of the format in which this agent writes its state
// directory: the journal and the backup log of a run, the pending handlers and the
// run lock. Files without a number are of format 0, which differs from 1 by the
// missing number and, for handlers, by one name a line instead of JSON.
//
// A format that changes gets the next number, a reader for the one before, and a
// directory in testdata with files of it.
const Format = 1

// FormatLine is the first line of files of JSON Lines.
type FormatLine struct {
	Format int `json:"format"`
}

// FormatError is the error for a file of an unknown format.
type FormatError struct {
	path   string
	format int
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("%s has format %d, and this version of deployer knows formats up to %d: a newer deployer has written it; use that version", e.path, e.format, Format)
}

// IsFormatLine reports whether a line is a format line. An unknown format is an
// error.
func IsFormatLine(path string, line []byte) (bool, error) {
	var head struct {
		Format *int `json:"format"`
	}
	if json.Unmarshal(line, &head) != nil || head.Format == nil {
		return false, nil //nolint:nilerr // another kind of line, or one that a power cut truncated
	}
	if *head.Format < 1 || *head.Format > Format {
		return false, &FormatError{path, *head.Format}
	}
	return true, nil
}

// CheckFormat checks the first line of a file. A missing file is fine.
func CheckFormat(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return nil //nolint:nilerr // the reader of the file reports the error
	}
	defer func() { _ = f.Close() }()
	line, err := bufio.NewReaderSize(f, 256).ReadSlice('\n')
	if err != nil {
		return nil //nolint:nilerr // empty, or longer than a line with a format
	}
	_, err = IsFormatLine(path, line)
	return err
}

// OpenLines opens a file of JSON Lines for appending. A new file gets the format
// line; an unknown format is an error.
func OpenLines(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(RestrictToOwner(f), beginLines(f)); err != nil {
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
		raw, err := json.Marshal(FormatLine{Format})
		if err != nil {
			return err
		}
		_, err = f.Write(append(raw, '\n'))
		return err
	}
	return errors.Join(CheckFormat(f.Name()), endLine(f))
}
