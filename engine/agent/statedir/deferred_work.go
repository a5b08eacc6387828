package statedir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// DeferWork remembers a kind that has work for the end of the segment, as an empty
// file with its name.
func (s *Dir) DeferWork(kind string) error {
	err := MakePrivateDirectory(s.deferredDir())
	if err == nil {
		err = os.WriteFile(filepath.Join(s.deferredDir(), kind), nil, 0o600)
	}
	if err != nil {
		return fmt.Errorf("recording deferred work: %w", err)
	}
	return nil
}

func (s *Dir) deferredDir() string { return filepath.Join(s.Path, "postponed") }

// DeferredWork returns the kinds that have work for the end of the segment, also those
// of an agent that died before it could do the work.
func (s *Dir) DeferredWork() ([]string, error) {
	left, err := os.ReadDir(s.deferredDir())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("listing deferred work: %w", err)
	}
	var kinds []string
	for _, e := range left {
		kinds = append(kinds, e.Name())
	}
	return kinds, nil
}

// RemoveDeferredWork forgets a kind whose work is done.
func (s *Dir) RemoveDeferredWork(kind string) error {
	return os.Remove(filepath.Join(s.deferredDir(), kind))
}
