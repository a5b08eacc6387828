package statedir

import (
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"deployer/engine"
)

// Runs returns the names of the runs that have a directory on this host.
func (s *Dir) Runs() []string {
	dirs, err := os.ReadDir(filepath.Join(s.Path, "runs"))
	if err != nil {
		return nil
	}
	var out []string
	for _, d := range dirs {
		out = append(out, d.Name())
	}
	return out
}

// JournalEntries returns the decoded entries of a run's journal, and the number of damaged
// lines.
func (s *Dir) JournalEntries(run string) (out []engine.JournalEntry, damaged int, err error) {
	raw, damaged, err := s.readJournal(run)
	if err != nil {
		return nil, 0, err
	}
	out = make([]engine.JournalEntry, 0, len(raw))
	for _, line := range raw {
		var e engine.JournalEntry
		if json.Unmarshal(line, &e) == nil && e.Step != "" {
			out = append(out, e)
		} else {
			damaged++
		}
	}
	return out, damaged, nil
}

// LastWrite returns when a run last wrote to its journal; zero when the journal is
// missing.
func (s *Dir) LastWrite(run string) time.Time {
	info, err := os.Stat(filepath.Join(s.Path, "runs", run, JournalFile))
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}
