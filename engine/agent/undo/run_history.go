package undo

import (
	"slices"
	"time"

	"deployer/engine"
)

// unfinished returns the run in which a step of a revert was begun, if no revert of
// that run has ended on this host since: actions that follow the step, such as the
// restart of a service, may be missing. ours reports whether a step belongs to the
// revert. unfinished returns "" when there is none.
func (s *Store) unfinished(ours func(step string) bool, reverted, present string) string {
	last := engine.Revert{Run: reverted}.ID()
	var ended, begun time.Time
	found := ""
	for _, run := range s.dir.Runs() {
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
func (s *Store) changedLater(what resource, after string) string {
	found, newest := "", s.started(after)
	for _, run := range s.dir.Runs() {
		if began := s.started(run); run == after || !began.After(newest) {
			continue
		}
		dir, _ := s.dir.RunDir(run) // its name is that of a directory
		lines, err := readBackupLog(dir)
		if err == nil && slices.ContainsFunc(lines, func(k BackupRecord) bool { return k.resource() == what }) {
			found, newest = run, s.started(run)
		}
	}
	return found
}

// started returns when a run began on this host; zero when the journal is empty.
func (s *Store) started(run string) time.Time {
	if entries := s.otherJournal(run); len(entries) > 0 {
		return entries[0].Time
	}
	return time.Time{}
}

// otherJournal returns the journal of a run that has ended, and caches it; empty
// when it cannot be read.
func (s *Store) otherJournal(run string) []engine.JournalEntry {
	s.mu.Lock()
	defer s.mu.Unlock()
	entries, ok := s.otherJournals[run]
	if !ok {
		entries, _, _ = s.dir.JournalEntries(run)
		s.otherJournals[run] = entries
	}
	return entries
}
