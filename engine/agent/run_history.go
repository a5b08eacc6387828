package agent

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"time"

	"deployer/engine"
)

// unfinished names the run in which a step of a revert was begun, when no revert
// of that run has come to its end on this host since: what followed it, such as
// the restart of a service, may not have been done. ours tells which steps are
// meant.
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
			case e.Step == last && (e.Status == engine.OK || e.Status == engine.Altered) && e.Time.After(ended):
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

// changedLater names the last run that has changed something after a run did;
// empty when none has.
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

// started is when a run began on this host.
func (s *state) started(run string) time.Time {
	if entries := s.otherJournal(run); len(entries) > 0 {
		return entries[0].Time
	}
	return time.Time{}
}

// ended is when a run wrote last into its journal; zero when nobody knows.
func (s *state) ended(run string) time.Time {
	info, err := os.Stat(filepath.Join(s.dir, "runs", run, journalFile))
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// otherJournal is the journal of a run that goes on no more; empty when it cannot be
// read.
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

// runs are the names of the runs that this host knows.
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

// entries are the lines of a run's journal, decoded.
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
