package statedir

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Each agent that begins a session replaces the mark in STATE/session. An agent that has lost
// its controller thereby sees that a controller reaches the host again.

// MarkSession writes a new mark and returns it. A host without state directory gets none: no
// run has changed it, and the mark is empty.
func (s *Dir) MarkSession() (string, error) {
	mark := rand.Text()
	f, err := os.CreateTemp(s.Path, ".session-*") // mode 0600
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("marking the session: %w", err)
	}
	_, err = f.WriteString(mark)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), s.sessionFile())
	}
	if err != nil {
		return "", errors.Join(fmt.Errorf("marking the session: %w", err), os.Remove(f.Name()))
	}
	return mark, nil
}

// SessionMark returns the mark of the newest session; empty when there is none.
func (s *Dir) SessionMark() (string, error) {
	mark, err := os.ReadFile(s.sessionFile())
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return string(mark), err
}

func (s *Dir) sessionFile() string { return filepath.Join(s.Path, "session") }
