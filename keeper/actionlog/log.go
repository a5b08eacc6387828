package actionlog

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Log is the file of a host. Its methods are not safe for concurrent use.
type Log struct{ dir string }

// In returns the file in the state directory of a host.
func In(dir string) *Log { return &Log{dir} }

// Append adds an entry that survives a loss of power.
func (l *Log) Append(e Entry) error {
	line, err := e.line()
	if err != nil {
		return err
	}
	if err := l.append(line); err != nil {
		return fmt.Errorf("recording an action of the keeper: %w", err)
	}
	return nil
}

func (l *Log) append(line []byte) error {
	if err := os.MkdirAll(l.dir, 0o700); err != nil {
		return err
	}
	path := filepath.Join(l.dir, File)
	info, err := os.Lstat(path)
	isNew := errors.Is(err, fs.ErrNotExist)
	if err != nil && !isNew {
		return err
	}
	if !isNew && info.Size()+int64(len(line)) >= MaxSize {
		if err := os.Rename(path, filepath.Join(l.dir, FormerFile)); err != nil {
			return err
		}
		isNew = true
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	err = write(f, line)
	if err = errors.Join(err, f.Close()); err != nil || !isNew {
		return err
	}
	return syncDir(l.dir)
}

// write appends a line. A line that a loss of power has left unfinished is ended first, so that it does not
// damage the next one.
func write(f *os.File, line []byte) error {
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	last := make([]byte, min(size, 1))
	if _, err := f.ReadAt(last, size-int64(len(last))); err != nil {
		return err
	}
	if string(last) != "" && string(last) != "\n" {
		line = append([]byte("\n"), line...)
	}
	if _, err := f.Write(line); err != nil {
		return err
	}
	return f.Sync()
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Last returns the newest entries, the newest last and at most number. A host without the file has none.
func (l *Log) Last(number int) ([]Entry, error) {
	var files []io.Reader
	for _, name := range []string{FormerFile, File} {
		f, err := os.Open(filepath.Join(l.dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading the actions of the keeper: %w", err)
		}
		defer func() { _ = f.Close() }()
		files = append(files, f)
	}
	out, err := Last(number, files...)
	if err != nil {
		return nil, fmt.Errorf("reading the actions of the keeper: %w", err)
	}
	return out, nil
}
