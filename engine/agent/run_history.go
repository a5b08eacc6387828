package agent

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"time"

	"deployer/engine"
)

// unfinished returns the run in which a step of a revert was begun, if no revert of
// that run has ended on this host since: actions that follow the step, such as the
// restart of a service, may be missing. ours reports whether a step belongs to the
// revert. It returns "" when there is none.
func (s *state) unfinished(ours func(step string) bool, reverted, present string) string {
	last := engine.Revert{Run: reverted}.ID()
	var ended, begun time.Time
	found := ""
	for _, run := range s.runs() {
		if run == present {
			continue
		}
		for _, e := range s.otherJournal(run) {
			switch {
			case e.Step == last && (e.Status == engine.StatusOK || e.Status == engine.StatusChanged) && e.Time.After(ended):
				ended = e.Time
			case e.Begun && ours(e.Step) && e.Time.After(begun):
				begun, found = e.Time, run
			}
		}
	}
	if ended.After(begun) {
		return ""
	}
	return found
}

// changedLater returns the last run that has changed a resource after the run
// `after`; "" when none has.
func (s *state) changedLater(what resource, after string) string {
	found, newest := "", s.started(after)
	for _, run := range s.runs() {
		if began := s.started(run); run == after || !began.After(newest) {
			continue
		}
		dir, _ := s.runDir(run) // its name is that of a directory
		lines, err := readBackupLog(dir)
		if err == nil && slices.ContainsFunc(lines, func(k BackupRecord) bool { return k.resource() == what }) {
			found, newest = run, s.started(run)
		}
	}
	return found
}

// started returns when a run began on this host; zero when the journal is empty.
func (s *state) started(run string) time.Time {
	if entries := s.otherJournal(run); len(entries) > 0 {
		return entries[0].Time
	}
	return time.Time{}
}

// ended returns when a run last wrote to its journal; zero when the journal is
// missing.
func (s *state) ended(run string) time.Time {
	info, err := os.Stat(filepath.Join(s.dir, "runs", run, journalFile))
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// otherJournal returns the journal of a run that has ended, and caches it; empty
// when it cannot be read.
func (s *state) otherJournal(run string) []engine.JournalEntry {
	s.mu.Lock()
	defer s.mu.Unlock()
	entries, ok := s.otherJournals[run]
	if !ok {
		entries, _ = s.entries(run)
		s.otherJournals[run] = entries
	}
	return entries
}

// runs returns the names of the runs that have a directory on this host.
func (s *state) runs() []string {
	dirs, err := os.ReadDir(filepath.Join(s.dir, "runs"))
	if err != nil {
		return nil
	}
	var out []string
	for _, d := range dirs {
		out = append(out, d.Name())
	}
	return out
}

// entries returns the decoded entries of a run's journal.
func (s *state) entries(run string) ([]engine.JournalEntry, error) {
	raw, err := s.read(run)
	if err != nil {
		return nil, err
	}
	out := make([]engine.JournalEntry, 0, len(raw))
	for _, line := range raw {
		var e engine.JournalEntry
		if json.Unmarshal(line, &e) == nil {
			out = append(out, e)
		}
	}
	return out, nil
}
