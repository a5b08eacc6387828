package undo

import (
	"path/filepath"
	"strings"

	"deployer/engine"
)

// regeneratedAction is the action that a plan shows for a file that a service makes again.
const regeneratedAction = "remove: its service makes it again when it starts"

// recordRegenerated records a file that the step removes and a service makes again, without
// its content.
func (k *backupWriter) recordRegenerated(line BackupRecord, root string) error {
	line.Kind, line.Name, line.Regenerated = kindFile, filepath.Clean("/"+line.Name), true
	return k.add(line, func(l *BackupRecord) (err error) {
		l.File, err = describePath(root, l.Name)
		return err
	})
}

// decideRegenerated decides about a file that the run removed and a service makes again: the
// present file is removed, whatever its content, unless this revert has removed the one of
// the run already.
func (v *revertModule) decideRegenerated(out *restoreDecision, now *File) error {
	out.state = engine.RevertUnchanged
	if now == nil {
		return nil
	}
	removed, err := v.hasRemoved(out.resourceChange)
	if removed || err != nil {
		return err
	}
	out.state = engine.RevertRestore
	out.effect = engine.Effect{Kind: engine.EffectFile, Target: out.name, Action: regeneratedAction}
	return nil
}

// hasRemoved reports whether the latest recorded change of a file is its removal by a revert
// of the run: the present file was made after that.
func (v *revertModule) hasRemoved(c *resourceChange) (bool, error) {
	lines := c.later
	if run := v.store.changedLater(c.resource, v.Run); run != "" {
		dir, err := v.store.dir.RunDir(run)
		if err != nil {
			return false, err
		}
		if lines, err = readBackupLog(dir); err != nil {
			return false, err
		}
	}
	last := BackupRecord{}
	for _, l := range lines {
		if l.resource() == c.resource {
			last = l
		}
	}
	return last.Left && last.File == nil && strings.HasPrefix(last.Step, engine.Revert{Run: v.Run}.ID()), nil
}
