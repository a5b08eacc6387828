package undo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"deployer/engine"
)

// purgeModule removes backups.
type purgeModule struct {
	engine.Purge
	store *Store
	run   string // the present one, whose backups stay; empty: they go as well
}

var _ engine.Module = (*purgeModule)(nil)

// Check counts the backups that would be removed, by run.
func (p *purgeModule) Check(context.Context, engine.System) (engine.Change, error) {
	var change engine.Change
	for _, run := range p.runs() {
		dir, err := p.store.dir.RunDir(run)
		if err != nil {
			continue // no directory of ours
		}
		lines, err := readBackupLog(dir)
		if err != nil {
			return engine.Change{}, err
		}
		things := 0
		for _, line := range lines {
			if _, gone := line.withoutSecrets(p.All); gone {
				things++
			}
		}
		if things > 0 {
			change.Effects = append(change.Effects, engine.Effect{Kind: engine.EffectFile, Target: "backups of run " + run,
				Action: fmt.Sprintf("remove: %d resources can no longer be restored", things)})
		}
	}
	change.Needed = len(change.Effects) > 0
	return change, nil
}

// runs returns the runs whose backups are removed.
func (p *purgeModule) runs() []string {
	var out []string
	for _, run := range p.store.dir.Runs() {
		if run != p.run && (p.Run == "" || p.Run == run) {
			out = append(out, run)
		}
	}
	return out
}

// Apply removes the backups.
func (p *purgeModule) Apply(context.Context, engine.System, engine.Change) (engine.Output, error) {
	var errs []error
	removed := 0
	for _, run := range p.runs() {
		n, err := p.store.removeBackupsInUse(run, p.All, p.reason())
		removed += n
		errs = append(errs, err)
	}
	p.store.dropRunChanges()
	return engine.Output{"removed": removed}, errors.Join(errs...)
}

// reason returns the reason that a revert reports.
func (p *purgeModule) reason() string {
	by := "deployer runs purge"
	if p.run == "" {
		by = "the end of the host's membership"
	}
	return by + " removed its backup on " + time.Now().UTC().Format("2006-01-02")
}

// removeBackupsInUse is removeBackups of a run whose log may be open for writing.
func (s *Store) removeBackupsInUse(run string, all bool, why string) (lost int, err error) {
	s.mu.Lock()
	k := s.backupWriters[run]
	s.mu.Unlock()
	if k == nil {
		return s.removeBackups(run, all, why)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.close() // the log is replaced; the next record opens the new one
	k.file = nil
	return s.removeBackups(run, all, why)
}

// dropRunChanges drops the cached changes of all runs.
func (s *Store) dropRunChanges() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.runChanges)
}
