package runs

import (
	"slices"

	"deployer/engine/journal"
	"deployer/project"
	"deployer/runs/history"
	"deployer/tasks/control/upgrade"
)

// ResumeRollback continues a revert that did not complete, as [Runner.ResumeRevert] does. The
// revert of a run of an upgrade is followed by those of the older runs of the upgrade, and
// preceded by those of the newer ones whose reverts did not complete either. A minor version
// that the rollback may not lower is a *RefusedError.
func (c Runner) ResumeRollback(was journal.Header, given Options) ([]*Revert, error) {
	first, err := c.ResumeRevert(was, given)
	if err != nil || first.Invocation.Verb != journal.VerbUpgrade {
		return []*Revert{first}, err
	}
	all, err := c.allRuns()
	if err != nil {
		return nil, err
	}
	o := continuedOptions(was, given)
	var newer []*Revert
	for _, run := range newerParts(all, o.Inventory, first.ID) {
		back, err := c.rollbackOne(run, o)
		if err != nil {
			return nil, err
		}
		newer = append(newer, back)
	}
	rest, err := c.rollbackRest(all, first, o)
	if err != nil {
		return nil, err
	}
	parts := append(newer, rest...)
	return parts, refuseLoweredBy(parts, o.LowerMinor)
}

// newerParts returns the runs of an upgrade that are newer than one of them, and of which a
// revert was begun and not completed, newest first.
func newerParts(all []*history.Entry, inventory, run string) []string {
	chain := UpgradeChain(all, inventory, "")
	i := slices.Index(chain, run)
	return slices.DeleteFunc(chain[:max(i, 0)], func(id string) bool {
		return !slices.ContainsFunc(all, func(r *history.Entry) bool {
			return r.Header.Invocation.Verb == journal.VerbRevert && r.Header.Invocation.Reverts == id
		})
	})
}

// NextRollback returns the newest run of an inventory when that run has taken back a run of
// an upgrade, and the id of the next run of that upgrade that is to be taken back: the
// rollback was cut short between the two. Otherwise it returns nil and no id.
func NextRollback(newestFirst []*history.Entry, inventory string) (last *history.Entry, next string) {
	i := slices.IndexFunc(newestFirst, func(r *history.Entry) bool {
		return !r.Here || r.Header.Invocation.Inventory == project.Absolute(inventory)
	})
	if i < 0 || newestFirst[i].Header.Invocation.Verb != journal.VerbRevert || !newestFirst[i].Finished() {
		return nil, ""
	}
	last = newestFirst[i]
	chain := UpgradeChain(newestFirst, inventory, last.Header.Invocation.Reverts)
	left := slices.ContainsFunc(newestFirst, func(r *history.Entry) bool {
		return slices.Index(chain, r.Header.Run) > 0 && (r.Brief || changedByUpgrade(r) == changedSomething)
	})
	if !left {
		return nil, ""
	}
	return last, chain[1]
}

// NextRollback is the function of this name for the known runs of the inventory in the
// options. The header of a run of another machine has the paths of this one.
func (c Runner) NextRollback(o Options) (last *history.Entry, next string, err error) {
	all, err := c.allRuns()
	if err != nil {
		return nil, "", nil //nolint:nilerr // [Runner.Unfinished] returns it
	}
	if last, next = NextRollback(all, o.Inventory); next == "" {
		return nil, "", nil
	}
	last, err = c.findEntry(last.Header.Run, o, "resume")
	return last, next, err
}

// ContinueRollback returns the reverts of the runs of an upgrade that are left; see
// [Runner.NextRollback].
func (c Runner) ContinueRollback(last journal.Header, next string, given Options) ([]*Revert, error) {
	o := continuedOptions(last, given)
	o.Inventory = given.Inventory
	return c.Rollback(next, o)
}

// continuedOptions returns the options of a rollback for the runs of the upgrade that it has
// not begun. The variables of its invocation are those of another run, except for the rule
// of drains that it was given.
func continuedOptions(was journal.Header, given Options) RevertOptions {
	o := given
	o.Inventory, o.LockHosts = project.Relative(was.Invocation.Inventory), was.Invocation.LockHosts || given.LockHosts
	if given.Forks == 0 {
		o.Forks = was.Invocation.Forks
	}
	if rule := was.Invocation.Extra["upgrade_drain"]; rule != nil && rule != upgrade.DrainAuto {
		o.Extra = mergeVars(map[string]any{"upgrade_drain": rule}, given.Extra)
	}
	return RevertOptions{Options: o, Force: was.Invocation.Force, LowerMinor: was.Invocation.LowerMinor}
}

// allRuns returns the known runs, newest first.
func (c Runner) allRuns() ([]*history.Entry, error) {
	known, err := c.history()
	if err != nil {
		return nil, err
	}
	all, err := known.List()
	if err != nil && len(all) == 0 {
		return nil, err
	}
	return all, nil
}
