package undo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"deployer/engine"
)

// revertModule restores the backups of a run, and
// backs up what it replaces, so that a revert can be reverted.
type revertModule struct {
	engine.Revert
	store   *Store
	run     string   // the present one
	resumes []string // runs that it continues
	history *runChanges
}

var _ engine.Module = (*revertModule)(nil)

// runChanges are the changes of one run, as read for a revert.
type runChanges struct {
	run, dir      string
	known         bool
	byStep        []*resourceChange // by step
	byRun         []*resourceChange // by the run
	ran           []string
	withoutBackup []string
}

// has reports whether the run has changed a resource.
func (p *runChanges) has(kind, name string) bool {
	return slices.ContainsFunc(p.byRun, func(c *resourceChange) bool { return c.resource == resource{kind, name} })
}

// Check finds the resources to restore. A resource that has changed since
// is an error, unless Look or Force is set.
func (v *revertModule) Check(ctx context.Context, sys engine.System) (engine.Change, error) {
	if v.InRollout != (v.Run == v.run || v.InRollout && slices.Contains(v.resumes, v.Run)) {
		return engine.Change{}, errors.New("a run can restore only the changes of its own rollouts; use `deployer revert` for those of another run")
	}
	var err error
	if v.history, err = v.store.changesOfRun(v.Run, v.Run == v.run); err != nil {
		return engine.Change{}, err
	}
	verdicts, err := v.decisions(ctx, sys)
	if err != nil {
		return engine.Change{}, err
	}
	var change engine.Change
	for _, d := range verdicts {
		if d.state == engine.RevertRestore {
			change.Effects = append(change.Effects, d.effect)
		}
	}
	if v.Preview {
		change.Needed = len(change.Effects) > 0
		change.Output, err = v.output(verdicts)
		return change, err
	}
	if err := v.refuse(verdicts); err != nil {
		return engine.Change{}, err
	}
	again := ""
	if !v.InRollout {
		again = v.store.unfinished(func(step string) bool { return step == v.ID() }, v.Run, v.run)
	}
	if again != "" && len(change.Effects) == 0 {
		change.Effects = append(change.Effects, engine.Effect{Kind: engine.EffectFile, Target: v.Task,
			Action: "was restored by run " + again + ", which did not come to its end"})
	}
	change.Needed = len(change.Effects) > 0
	return change, nil
}

// refuse returns the error for resources that have changed since the run.
func (v *revertModule) refuse(verdicts []*restoreDecision) error {
	var names []string
	for _, d := range verdicts {
		if d.state == engine.RevertDrifted {
			names = append(names, d.name)
		}
	}
	switch {
	case len(names) == 0:
		return nil
	case v.InRollout:
		return fmt.Errorf("somebody has changed %s during the run", strings.Join(names, ", "))
	}
	return fmt.Errorf("somebody has changed %s since run %s; use --force to restore it anyway", strings.Join(names, ", "), v.Run)
}

// changes returns the changes that this step restores, in order: from the last to
// the first, and then, from the first to the last, those that need their files
// first.
func (v *revertModule) changes() []*resourceChange {
	all := v.history.byStep
	if v.Preview {
		all = v.history.byRun
	}
	var early, late []*resourceChange
	for _, c := range slices.Backward(all) {
		switch {
		case v.Task != "" && !isStepOfTask(c.steps[0], v.Task):
		case v.needsFilesFirst(c):
			late = append([]*resourceChange{c}, late...)
		default:
			early = append(early, c)
		}
	}
	switch {
	case v.Task == "":
		return append(early, late...)
	case v.AfterFiles:
		return late
	}
	return early
}

// needsFilesFirst reports whether a change can be reverted only after files are
// restored.
func (v *revertModule) needsFilesFirst(c *resourceChange) bool {
	r := v.store.registry[c.kind].Restorer
	return r != nil && r.NeedsFilesFirst != nil && r.NeedsFilesFirst(c.before.State)
}

// beforeFiles reports whether a change of the whole run needs files first, but a step of it
// does not, such as the start of a unit that the run had stopped before.
func (v *revertModule) beforeFiles(c *resourceChange) bool {
	return v.needsFilesFirst(c) && slices.ContainsFunc(v.history.byStep, func(of *resourceChange) bool { return of.resource == c.resource && !v.needsFilesFirst(of) })
}

// started reports whether the run has started something that did not run before.
func (v *revertModule) started(c *resourceChange) bool {
	r := v.store.registry[c.kind].Restorer
	return r != nil && r.Stopped != nil && r.Stopped(c.before.State) && (c.after == nil || !r.Stopped(c.after.State))
}

func (v *revertModule) decisions(ctx context.Context, sys engine.System) ([]*restoreDecision, error) {
	var out []*restoreDecision
	for _, c := range v.changes() {
		d, err := v.decide(ctx, sys, c)
		if err != nil {
			return nil, err
		}
		out = append(out, d)
	}
	keepNonEmptyDirectories(sys, out)
	return out, nil
}

// keepNonEmptyDirectories marks directories that will not be empty when they are to
// be removed.
func keepNonEmptyDirectories(sys engine.System, verdicts []*restoreDecision) {
	gone := map[string]bool{}
	for _, d := range verdicts {
		if d.kind != kindFile || d.before.File != nil || d.state != engine.RevertRestore {
			continue
		}
		gone[d.name] = true
		info, err := os.Lstat(sys.Path(d.name))
		if err != nil || !info.IsDir() {
			continue // a link to a directory is no directory
		}
		entries, err := os.ReadDir(sys.Path(d.name))
		if err != nil {
			continue // the restore reports the error
		}
		for _, e := range entries {
			if path := filepath.Join(d.name, e.Name()); !gone[path] {
				d.state, d.why = engine.RevertLost, "the directory is not empty: it has "+e.Name()
				delete(gone, d.name)
			}
		}
	}
}

// output encodes the decisions as an engine.RunHistory.
func (v *revertModule) output(verdicts []*restoreDecision) (engine.Output, error) {
	ours := func(step string) bool { return strings.HasPrefix(step, engine.Revert{Run: v.Run}.ID()) }
	found := engine.RunHistory{Known: v.history.known, Executed: v.history.ran, WithoutBackup: v.history.withoutBackup, Unfinished: v.store.unfinished(ours, v.Run, v.run)}
	var err error
	if found.Pending, err = v.store.dir.PendingHandlers(); err != nil {
		return nil, err
	}
	for _, d := range verdicts {
		p := engine.ChangeRecord{Steps: d.steps, Kind: d.kind, Name: d.name, Effect: v.effectKind(d), State: d.state, Reason: d.why, NeedsFilesFirst: v.needsFilesFirst(d.resourceChange), BeforeFiles: v.beforeFiles(d.resourceChange),
			Created: d.before.Lost == "" && d.before.File == nil && len(d.before.State) == 0, Started: v.started(d.resourceChange)}
		if d.state == engine.RevertDrifted {
			p.Run = v.store.changedLater(d.resource, v.Run)
		}
		found.Items = append(found.Items, p)
	}
	return engine.NewOutput(found)
}

// effectKind returns the kind of effect under which plans count a restore.
func (v *revertModule) effectKind(d *restoreDecision) engine.EffectKind {
	if r := v.store.registry[d.kind].Restorer; r != nil && d.kind != kindFile {
		return r.Effect
	}
	return engine.EffectFile
}

// Apply restores the resources. Apply decides about each one again when it is its turn,
// as an earlier restore may have changed it. A resource that can never be restored
// is reported in the output and does not stop the rest.
func (v *revertModule) Apply(ctx context.Context, sys engine.System, _ engine.Change) (engine.Output, error) {
	stays := []any{}
	if v.Preview {
		return nil, nil
	}
	for _, c := range v.changes() {
		d, err := v.decide(ctx, sys, c)
		if err == nil {
			err = v.refuse([]*restoreDecision{d})
		}
		if err == nil && d.state == engine.RevertRestore {
			err = v.restore(ctx, sys, d)
		}
		var stay *engine.IrreversibleError
		if errors.As(err, &stay) {
			stays = append(stays, map[string]any{"kind": d.kind, "name": d.name, "why": stay.Reason})
		} else if err != nil {
			return nil, fmt.Errorf("restoring %s %s: %w", c.kind, c.name, err)
		}
	}
	return engine.Output{"stays": stays}, nil
}

func (v *revertModule) restore(ctx context.Context, sys engine.System, d *restoreDecision) error {
	if d.before.Regenerated {
		if err := sys.BackupRegenerated(d.name); err != nil {
			return err
		}
		return restoreFile(sys.Path("/"), d.name, nil, "")
	}
	if d.kind == kindFile {
		if err := errors.Join(sys.Backup(d.name), v.deferRereads(sys, d.name)); err != nil {
			return err
		}
		return restoreFile(sys.Path("/"), d.name, d.before.File, v.contentPath(d.before))
	}
	if err := sys.BackupState(d.kind, d.name, d.now); err != nil {
		return err
	}
	return v.store.registry[d.kind].Restorer.Restore(ctx, sys, d.name, d.now, d.to)
}

// deferRereads defers the work that must follow the restore of a file.
func (v *revertModule) deferRereads(sys engine.System, path string) error {
	for name, kind := range v.store.registry {
		later, ok := sys.(engine.Deferrer)
		if !ok || kind.Restorer == nil || kind.Restorer.ReloadsOn == nil || !kind.Restorer.ReloadsOn(path) {
			continue
		}
		if err := later.Defer(name); err != nil {
			return err
		}
	}
	return nil
}

// changesOfRun reads the changes of a run. changesOfRun updates the time of the run's
// directory, so that the run is not removed before it is reverted. With active,
// the run is still running, and its changes are read again each time.
func (s *Store) changesOfRun(run string, active bool) (*runChanges, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.runChanges[run]; p != nil && !active {
		return p, nil
	}
	dir, err := s.dir.RunDir(run)
	if err != nil {
		return nil, err
	}
	if !active {
		if err := s.knownFormats(); err != nil {
			return nil, err
		}
	}
	p := &runChanges{run: run, dir: dir}
	lines, err := readBackupLog(dir)
	if err != nil {
		return nil, err
	}
	entries, damaged, err := s.dir.JournalEntries(run)
	if err != nil {
		return nil, err
	}
	if damaged > 0 {
		lines = append(lines, lostRecord("journal of the run", fmt.Sprintf("%d of its lines are damaged, so steps may be missing", damaged)))
	}
	p.known, p.byStep = len(entries) > 0 || len(lines) > 0, changesByStep(lines)
	p.byRun = changesByRun(p.byStep)
	if p.known {
		now := time.Now()
		_ = os.Chtimes(dir, now, now)
	}
	kept := map[string]bool{}
	for _, l := range lines {
		kept[l.Step] = true
	}
	for _, e := range entries {
		if !slices.Contains(p.ran, e.Step) {
			p.ran = append(p.ran, e.Step)
		}
		if e.Begun && !kept[e.Step] && !slices.Contains(p.withoutBackup, e.Step) {
			p.withoutBackup = append(p.withoutBackup, e.Step)
		}
	}
	if !active {
		s.runChanges[run] = p
	}
	return p, nil
}
