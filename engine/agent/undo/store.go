package undo

import (
	"path/filepath"
	"sync"

	"deployer/engine"
	"deployer/engine/agent/statedir"
)

// Store holds the backups of all runs on a host. Its methods may be called
// concurrently.
type Store struct {
	dir      *statedir.Dir
	registry engine.Registry
	root     string // the directory of this machine that is / of the host

	mu            sync.Mutex
	backupWriters map[string]*backupWriter
	runChanges    map[string]*runChanges           // by run, as read for a revert
	otherJournals map[string][]engine.JournalEntry // journals of other runs, by run; they no longer change
}

// Open returns the backups in a state directory, whose OnNewRun it sets to remove old
// ones. The registry has the restorers of resources other than files; root is the
// directory of this machine that is / of the host.
func Open(dir *statedir.Dir, registry engine.Registry, root string) *Store {
	s := &Store{
		dir: dir, registry: registry, root: root, backupWriters: map[string]*backupWriter{},
		runChanges: map[string]*runChanges{}, otherJournals: map[string][]engine.JournalEntry{},
	}
	dir.OnNewRun = func() { _ = s.gcRuns() }
	return s
}

// Close closes the backup logs.
func (s *Store) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range s.backupWriters {
		k.close()
	}
	clear(s.backupWriters)
}

// RevertModule returns the module for engine.RevertModule, as a step of a run that
// continues others.
func (s *Store) RevertModule(run string, resumes []string) engine.Module {
	return &revertModule{store: s, run: run, resumes: resumes}
}

// PurgeModule returns the module for engine.PurgeModule, as a step of a run.
func (s *Store) PurgeModule(run string) engine.Module { return &purgeModule{store: s, run: run} }

// PurgeEverythingModule returns the module for engine.BackupPurger.
func (s *Store) PurgeEverythingModule(all bool) engine.Module {
	return &purgeModule{store: s, Purge: engine.Purge{All: all}}
}

// backupWriter returns the writer of a run's backup log, with the records that an
// earlier agent wrote for the same run.
func (s *Store) backupWriter(run string) (*backupWriter, error) {
	dir, err := s.dir.RunDir(run)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if k := s.backupWriters[run]; k != nil {
		return k, nil
	}
	lines, err := readBackupLog(dir)
	if err != nil {
		return nil, err
	}
	k := &backupWriter{dir: dir, seen: map[string]map[resource]bool{}, unfinishedByStep: map[string][]BackupRecord{}, irreversibleByStep: map[string][]BackupRecord{}}
	for _, line := range lines {
		k.index(line)
	}
	s.backupWriters[run] = k
	return k, nil
}

// knownFormats returns an error when any run has left files of an unknown format: a
// revert would miss changes that they record.
func (s *Store) knownFormats() error {
	for _, run := range s.dir.Runs() {
		dir, err := s.dir.RunDir(run)
		if err != nil {
			continue // no directory of ours
		}
		for _, name := range []string{statedir.JournalFile, backupLogFile} {
			if err := statedir.CheckFormat(filepath.Join(dir, name)); err != nil {
				return err
			}
		}
	}
	return nil
}
