package purge

import (
	"context"

	"deployer/engine"
)

// Backups removes the backups of runs from the host, those of the present run
// included. A revert of these runs reports what it cannot restore.
type Backups struct {
	All bool `yaml:"all" doc:"remove all backups; false removes those of secret steps and secret files. Default false"`
}

var _ engine.Module = (*Backups)(nil)

// Check reports whether there are backups to remove, or earlier steps of a check would make
// some.
func (b *Backups) Check(ctx context.Context, sys engine.System) (engine.Change, error) {
	var change engine.Change
	if p, ok := sys.(engine.BackupPurger); ok {
		var err error
		if change, err = p.PurgeModule(b.All).Check(ctx, sys); err != nil {
			return engine.Change{}, err
		}
	}
	view, ok := sys.(engine.DryRunView)
	if !change.Needed && (!ok || !view.WouldChange("/")) {
		return engine.NoChange(nil), nil
	}
	// A plan has neither the id of the run that applies it nor that run's backups.
	return engine.Changed(engine.Effect{Kind: engine.EffectFile, Target: "backups of runs", Action: "remove"}), nil
}

// Apply removes the backups.
func (b *Backups) Apply(ctx context.Context, sys engine.System, change engine.Change) (engine.Output, error) {
	if p, ok := sys.(engine.BackupPurger); ok {
		return p.PurgeModule(b.All).Apply(ctx, sys, change)
	}
	return nil, nil
}
