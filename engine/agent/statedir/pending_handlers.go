package statedir

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

// maxPendingHandlers bounds the handlers that a host remembers; a playbook has a few
// dozen.
const maxPendingHandlers = 1000

// pendingHandlersContent is the content of the file.
type pendingHandlersContent struct {
	FormatLine
	Handlers []string `json:"handlers"`
}

// PendingHandlers lists the handlers that a change on this host has notified and
// that have not succeeded since. PendingHandlers outlive the run: after a run that was killed
// between a new configuration and its reload, the next run finds nothing to change,
// and the program would keep the old configuration for good.
func (s *Dir) PendingHandlers() ([]string, error) {
	data, err := os.ReadFile(s.pendingHandlersFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the pending handlers: %w", err)
	}
	known, err := IsFormatLine(s.pendingHandlersFile(), data)
	if err != nil {
		return nil, err
	}
	if !known { // of format 0
		return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n"), nil
	}
	var file pendingHandlersContent
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("reading the pending handlers: %s: %w", s.pendingHandlersFile(), err)
	}
	return file.Handlers, nil
}

func (s *Dir) pendingHandlersFile() string { return filepath.Join(s.Path, "owed") }

// AddPendingHandlers adds handlers to the list, before the change that notifies
// them.
func (s *Dir) AddPendingHandlers(handlers []string) error {
	if len(handlers) == 0 {
		return nil
	}
	before, err := s.PendingHandlers()
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

// RemovePendingHandler removes a handler that has succeeded.
func (s *Dir) RemovePendingHandler(handler string) error {
	before, err := s.PendingHandlers()
	if err != nil || !slices.Contains(before, handler) {
		return err
	}
	return s.writePendingHandlers(slices.DeleteFunc(before, func(h string) bool { return h == handler }))
}

func (s *Dir) writePendingHandlers(handlers []string) error {
	var err error
	if len(handlers) == 0 {
		err = os.Remove(s.pendingHandlersFile())
	} else {
		var text []byte
		if text, err = json.Marshal(pendingHandlersContent{FormatLine{Format}, handlers}); err == nil {
			err = WritePrivateFile(s.pendingHandlersFile(), append(text, '\n'))
		}
	}
	if err != nil {
		return fmt.Errorf("writing the pending handlers: %w", err)
	}
	return nil
}
