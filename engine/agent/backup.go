package agent

import (
	"context"

	"deployer/engine"
	"deployer/engine/agent/undo"
)

// Backup backs up the file at a path before the step changes it; see engine.System.
func (s *system) Backup(path string) error {
	if s.step.check {
		return nil
	}
	return s.step.server.backups.Backup(s.step.backupStep(), path)
}

// BackupRegenerated records the removal of a file that its service makes again; see
// engine.System.
func (s *system) BackupRegenerated(path string) error {
	if s.step.check {
		return nil
	}
	return s.step.server.backups.BackupRegenerated(s.step.backupStep(), path)
}

// BackupState backs up the state of a resource other than a file; see engine.System.
func (s *system) BackupState(kind, name string, now engine.State) error {
	if s.step.check {
		return nil
	}
	return s.step.server.backups.BackupState(s.step.backupStep(), kind, name, now)
}

// MarkIrreversible records that a resource cannot be restored, with the reason; see
// engine.System.
func (s *system) MarkIrreversible(name, why string) error {
	if s.step.check {
		return nil
	}
	return s.step.server.backups.MarkIrreversible(s.step.backupStep(), name, why)
}

var _ engine.BackupPurger = (*system)(nil)

// PurgeModule implements engine.BackupPurger.
func (s *system) PurgeModule(all bool) engine.Module {
	return s.step.server.backups.PurgeEverythingModule(all)
}

// backupStep returns the step as backups name it.
func (r *stepRun) backupStep() undo.Step {
	return undo.Step{Run: r.run, ID: r.step.ID, Secret: r.secret()}
}

// secret reports whether the contents that the step handles are secret.
func (r *stepRun) secret() bool {
	if r.step.Secret || r.applied == nil {
		return r.step.Secret
	}
	for _, e := range r.applied.Effects {
		if e.Secret {
			return true
		}
	}
	return false
}

// recordAfter records the present state of each resource that the step has backed up;
// nothing in a dry run.
func (r *stepRun) recordAfter(ctx context.Context) error {
	if r.check {
		return nil
	}
	return r.server.backups.RecordAfter(ctx, r.backupStep(), &system{step: r})
}
