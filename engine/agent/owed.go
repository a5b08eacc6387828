package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/renameio/v2"
)

// maxOwed bounds the handlers that a host remembers; a playbook has a few dozen.
const maxOwed = 1000

// owed lists the handlers that a change on this host has made necessary and that
// have not come to a good end since. They outlive the run: one that was killed
// between a new configuration and its reload would otherwise leave a program
// with the old one for good, as the next run finds nothing to change.
func (s *state) owed() ([]string, error) {
	data, err := os.ReadFile(s.owedFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading which handlers have to run: %w", err)
	}
	return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n"), nil
}

func (s *state) owedFile() string { return filepath.Join(s.dir, "owed") }

// owe remembers handlers before the change that they follow is made.
func (s *state) owe(handlers []string) error {
	if len(handlers) == 0 {
		return nil
	}
	before, err := s.owed()
	if err != nil {
		return err
	}
	after := before
	for _, h := range handlers {
		if !slices.Contains(after, h) && !strings.Contains(h, "\n") {
			after = append(after, h)
		}
	}
	if len(after) == len(before) {
		return nil
	}
	return s.writeOwed(after[max(0, len(after)-maxOwed):])
}

// settle forgets a handler that has come to a good end.
func (s *state) settle(handler string) error {
	before, err := s.owed()
	if err != nil || !slices.Contains(before, handler) {
		return err
	}
	return s.writeOwed(slices.DeleteFunc(before, func(h string) bool { return h == handler }))
}

func (s *state) writeOwed(handlers []string) error {
	text := ""
	if len(handlers) > 0 {
		text = strings.Join(handlers, "\n") + "\n"
	}
	var err error
	if text == "" {
		err = os.Remove(s.owedFile())
	} else {
		err = renameio.WriteFile(s.owedFile(), []byte(text), 0o600)
	}
	if err != nil {
		return fmt.Errorf("writing down which handlers have to run: %w", err)
	}
	return nil
}
