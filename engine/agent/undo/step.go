package undo

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"deployer/engine"
	"deployer/engine/hostpath"
)

// Step is a step whose changes are backed up. The methods of Store that take one must
// not be called in a dry run, which changes nothing.
type Step struct {
	Run, ID string
	// Secret is true when the contents that the step handles must not be shown.
	Secret bool
}

func (s Step) record(kind, name string) BackupRecord {
	return BackupRecord{Step: s.ID, Kind: kind, Name: name, Secret: s.Secret}
}

// Backup backs up the file at a path of the host before the step changes it; see
// engine.System.
func (s *Store) Backup(step Step, path string) error {
	k, err := s.backupWriter(step.Run)
	if err != nil {
		return err
	}
	return k.backUp(step.record("", path), s.root)
}

// BackupRegenerated records that the step removes a file that its service makes again; see
// engine.System.
func (s *Store) BackupRegenerated(step Step, path string) error {
	k, err := s.backupWriter(step.Run)
	if err != nil {
		return err
	}
	return k.recordRegenerated(step.record("", path), s.root)
}

// BackupState backs up the state of a resource other than a file; see engine.System.
func (s *Store) BackupState(step Step, kind, name string, now engine.State) error {
	k, err := s.backupWriter(step.Run)
	if err != nil {
		return err
	}
	if s.registry[kind].Restorer == nil {
		return fmt.Errorf("backing up %s %s: its kind has no restorer; this is a bug of the module", kind, name)
	}
	return k.add(step.record(kind, name), func(l *BackupRecord) error {
		l.State = now
		return nil
	})
}

// MarkIrreversible records that a resource cannot be restored, with the reason; see
// engine.System.
func (s *Store) MarkIrreversible(step Step, name, why string) error {
	k, err := s.backupWriter(step.Run)
	if err != nil {
		return err
	}
	line := step.record(kindLost, name)
	line.Lost = why
	return k.add(line, func(*BackupRecord) error { return nil })
}

// RecordAfter records the present state of each resource that the step has backed up.
// RecordAfter is also called for a step that failed, or that found the work of an earlier
// attempt done.
func (s *Store) RecordAfter(ctx context.Context, step Step, sys engine.System) error {
	k, err := s.backupWriter(step.Run)
	if err != nil {
		return err
	}
	for _, line := range k.unfinished(step.ID) {
		if line.Kind == kindFile {
			line.File, err = describeWithDigest(s.root, line.Name)
		} else {
			line.State, err = s.registry[line.Kind].Restorer.Read(ctx, sys, line.Name)
		}
		if err == nil {
			err = k.recordAfter(line)
		}
		if err != nil {
			return fmt.Errorf("reading the new state of %s %s: %w", line.Kind, line.Name, err)
		}
	}
	return nil
}

const irreversibleMark = " (cannot be restored: "

// PredictIrreversible marks the effects of a check that replace a file too large for a
// backup. A dry run may call it.
func (s *Store) PredictIrreversible(change *engine.Change) {
	for i, e := range change.Effects {
		if e.Kind != engine.EffectFile || !filepath.IsAbs(e.Target) {
			continue
		}
		info, err := hostpath.Lstat(s.root, e.Target)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		if why := backupRefusal(s.dir.Path, info.Size()); why != "" {
			change.Effects = slices.Clone(change.Effects)
			change.Effects[i].Action += irreversibleMark + why + ")"
		}
	}
}

// ReportIrreversible marks the effects of a step that have replaced files without a
// backup, where the check did not.
func (s *Store) ReportIrreversible(step Step, change *engine.Change) {
	k, err := s.backupWriter(step.Run)
	if err != nil {
		return // the step has failed with the same error
	}
	for _, line := range k.replacedWithoutBackup(step.ID) {
		text := irreversibleMark + line.Lost + ")"
		at := slices.IndexFunc(change.Effects, func(e engine.Effect) bool { return e.Target == line.Name })
		switch {
		case at < 0:
			change.Effects = append(slices.Clip(change.Effects), engine.Effect{Kind: engine.EffectFile, Target: line.Name, Action: "replace" + text})
		case !strings.HasSuffix(change.Effects[at].Action, text):
			change.Effects = slices.Clone(change.Effects)
			change.Effects[at].Action += text
		}
	}
}
