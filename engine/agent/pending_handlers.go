package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxPendingHandlers bounds the handlers that a host remembers; a playbook has a few dozen.
const maxPendingHandlers = 1000

// pendingHandlersContent is the content of the file.
type pendingHandlersContent struct {
	formatLine
	Handlers []string `json:"handlers"`
}

// pendingHandlers lists the handlers that a change on this host has made necessary and that
// have not come to a good end since. They outlive the run: one that was killed
// between a new configuration and its reload would otherwise leave a program
// with the old one for good, as the next run finds nothing to change.
func (s *state) pendingHandlers() ([]string, error) {
	data, err := os.ReadFile(s.pendingHandlersFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading which handlers have to run: %w", err)
	}
	known, err := isFormatLine(s.pendingHandlersFile(), data)
	if err != nil {
		return nil, err
	}
	if !known { // of format 0
		return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n"), nil
	}
	var file pendingHandlersContent
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("reading which handlers have to run: %s: %w", s.pendingHandlersFile(), err)
	}
	return file.Handlers, nil
}

func (s *state) pendingHandlersFile() string { return filepath.Join(s.dir, "owed") }

// addPendingHandlers remembers handlers before the change that they follow is made.
func (s *state) addPendingHandlers(handlers []string) error {
	if len(handlers) == 0 {
		return nil
	}
	before, err := s.pendingHandlers()
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
	return s.writePendingHandlers(after[max(0, len(after)-maxPendingHandlers):])
}

// removePendingHandler forgets a handler that has come to a good end.
func (s *state) removePendingHandler(handler string) error {
	before, err := s.pendingHandlers()
	if err != nil || !slices.Contains(before, handler) {
		return err
	}
	return s.writePendingHandlers(slices.DeleteFunc(before, func(h string) bool { return h == handler }))
}

func (s *state) writePendingHandlers(handlers []string) error {
	var err error
	if len(handlers) == 0 {
		err = os.Remove(s.pendingHandlersFile())
	} else {
		var text []byte
		if text, err = json.Marshal(pendingHandlersContent{formatLine{stateFormat}, handlers}); err == nil {
			err = writePrivateFile(s.pendingHandlersFile(), append(text, '\n'))
		}
	}
	if err != nil {
		return fmt.Errorf("writing down which handlers have to run: %w", err)
	}
	return nil
}
