package runs

import (
	"fmt"
	"slices"
	"strings"

	"deployer/cluster"
	"deployer/engine"
	"deployer/engine/journal"
	"deployer/project"
	"deployer/runs/history"
	"deployer/tasks/control/upgrade"
)

// Rollback returns the reverts of the runs of an upgrade, newest first (see
// [UpgradeChain]). The upgrade is named by the beginning of the id of its newest run;
// without a name it is the newest one of the inventory. No upgrade and another run are a
// *project.UserError; a *RefusedError names the minor versions that must not be lowered
// (see RevertOptions.LowerMinor).
func (c Runner) Rollback(name string, o RevertOptions) ([]*Revert, error) {
	all, err := c.allRuns()
	if err != nil {
		return nil, err
	}
	if name == "" {
		chain := UpgradeChain(all, o.Inventory, "")
		if len(chain) == 0 {
			return nil, project.AsUserError(fmt.Errorf("no upgrade of %s is known that has not been rolled back; see deployer runs list --from-hosts", project.Relative(project.Absolute(o.Inventory))))
		}
		name = chain[0]
	}
	first, err := c.rollbackOne(name, o)
	if err != nil {
		return nil, err
	}
	return c.rollbackRest(all, first, o)
}

// UpgradeBefore returns the newest run of the upgrade before the one with the given runs,
// which [Runner.Rollback] has returned; empty without one.
func (c Runner) UpgradeBefore(parts []*Revert) string {
	all, err := c.allRuns()
	if err != nil {
		return ""
	}
	all = slices.DeleteFunc(all, func(r *history.Entry) bool {
		return slices.ContainsFunc(parts, func(back *Revert) bool { return back.ID == r.Header.Run })
	})
	for _, id := range UpgradeChain(all, parts[0].options.Inventory, "") {
		return id
	}
	return ""
}

// rollbackRest returns the revert of a run of an upgrade, followed by those of the older
// runs of its chain. rollbackRest returns the reverts also with a *RefusedError for minor versions.
func (c Runner) rollbackRest(all []*history.Entry, first *Revert, o RevertOptions) ([]*Revert, error) {
	out := []*Revert{first}
	for _, run := range UpgradeChain(all, first.options.Inventory, first.ID) {
		if run == first.ID {
			continue
		}
		back, err := c.rollbackOne(run, o)
		if err != nil {
			return nil, err
		}
		out = append(out, back)
	}
	return out, refuseLoweredBy(out, o.LowerMinor)
}

// refuseLoweredBy returns a *RefusedError for the minor versions that reverts of the runs of
// one upgrade would lower.
func refuseLoweredBy(parts []*Revert, accepted bool) error {
	var lowered []cluster.VersionChange
	for _, back := range parts {
		back.ResumedFrom = "" // the resumed run is reverted after this run
		lowered = append(lowered, back.lowered()...)
	}
	return refuseLowered(lowered, accepted)
}

// rollbackOne returns the revert of one run of an upgrade.
func (c Runner) rollbackOne(name string, o RevertOptions) (*Revert, error) {
	back, err := c.findRun(name, o)
	if err != nil {
		return nil, project.AsUserError(err)
	}
	if back.Invocation.Verb != journal.VerbUpgrade {
		return nil, project.AsUserError(fmt.Errorf("run %s was deployer %s, not an upgrade; take it back with: deployer revert %s", back.ID, back.Invocation.Verb, back.ID))
	}
	// The hosts have the versions of the upgrade, so the rule of the upgrade finds no
	// reason for a drain. The return to another minor version needs a drain too.
	if len(back.log.versions) > 0 && back.Invocation.Extra["upgrade_drain"] == upgrade.DrainAuto && o.Extra["upgrade_drain"] == nil {
		back.options.Extra = mergeVars(map[string]any{"upgrade_drain": upgrade.DrainAlways}, o.Extra)
	}
	return back, c.prepareRevert(back)
}

// Lowered returns the components whose minor version the revert lowers although their stored
// data may have the form of the newer one, as "kube-apiserver of m1: v1.36.3 to v1.35.4".
func (r *Revert) Lowered() []string {
	var out []string
	for _, v := range r.lowered() {
		out = append(out, fmt.Sprintf("%s of %s: %s to %s", v.Component, v.Host, v.To, v.From))
	}
	return out
}

// lowered returns the irreversible changes that the run has made.
func (r *Revert) lowered() []cluster.VersionChange {
	return slices.DeleteFunc(slices.Clone(r.log.versions), func(v cluster.VersionChange) bool { return !r.log.changedVersion(v) })
}

// refuseLowered returns a *RefusedError for minor versions that a rollback must not lower:
// that of etcd in any case, as an older etcd does not read the data of a newer one, and
// that of API servers unless accepted is set.
func refuseLowered(lowered []cluster.VersionChange, accepted bool) error {
	var texts []string
	etcd := false
	for _, v := range lowered {
		etcd = etcd || v.Component == "etcd"
		texts = append(texts, fmt.Sprintf("%s of %s: %s to %s", v.Component, v.Host, v.To, v.From))
	}
	switch list := strings.Join(texts, ", "); {
	case etcd:
		return &RefusedError{fmt.Errorf("etcd's minor version was raised, and an older etcd does not read its data: %s; restore the snapshot that the upgrade has saved (deployer etcd restore), or keep the version", list)}
	case len(texts) > 0 && !accepted:
		return &RefusedError{fmt.Errorf("the newer API servers may have stored objects in a form that the older ones cannot read: %s; roll back all the same with deployer rollback --lower-minor, or restore the snapshot that the upgrade has saved (deployer etcd restore)", list)}
	}
	return nil
}

// refuseVersions returns a *project.UserError for a run that has changed versions: an
// upgrade, whose rollback has rules of its own, and the revert of one.
func (c Runner) refuseVersions(r *Revert) error {
	call, rolledBack := r.Invocation, false
	for seen := map[string]bool{}; call.Verb == journal.VerbRevert && !seen[call.Reverts]; rolledBack = true {
		seen[call.Reverts] = true
		first, err := c.findEntry(call.Reverts, r.options.Options, journal.VerbRevert)
		if err != nil {
			return nil //nolint:nilerr // originalRevert returns it
		}
		call = first.Header.Invocation
	}
	switch {
	case call.Verb != journal.VerbUpgrade:
		return nil
	case rolledBack:
		return project.AsUserError(fmt.Errorf("run %s was a rollback, and only an upgrade raises versions; set the version in the inventory and run: deployer upgrade", r.ID))
	}
	return project.AsUserError(fmt.Errorf("run %s was an upgrade, which revert does not restore; run: deployer rollback %s", r.ID, r.ID))
}

// noteVersions notes the irreversible changes of versions that a run was about to make.
func (t *runLog) noteVersions(e *engine.Event) {
	if e.Result.Change == nil || len(t.versions) > 0 {
		return
	}
	for _, effect := range e.Result.Change.Effects {
		if effect.Kind != engine.EffectShow || effect.Target != upgrade.IrreversibleTarget {
			continue
		}
		if v, ok := cluster.ParseVersionChange(effect.Action); ok {
			t.versions = append(t.versions, v)
		}
	}
}

// changedVersion reports whether the run has changed a version on a host: a step there has
// changed the file with the version.
func (t *runLog) changedVersion(v cluster.VersionChange) bool {
	return slices.ContainsFunc(t.changed[v.Host], func(s changedStep) bool { return slices.Contains(s.targets, versionFile(v)) })
}

// versionFile returns the file that has the version of an API server or of etcd: a manifest
// or a binary.
func versionFile(v cluster.VersionChange) string {
	if v.Component == "etcd" {
		return "/usr/local/bin/etcd"
	}
	return "/etc/kubernetes/manifests/" + v.Component + ".yaml"
}

// loweredOn returns the irreversible changes that the hosts of a preview have recorded. A
// run that was killed has no end of its last steps in its log.
func (r *Revert) loweredOn(preview *RevertPreview) []cluster.VersionChange {
	return slices.DeleteFunc(slices.Clone(r.log.versions), func(v cluster.VersionChange) bool {
		return !slices.ContainsFunc(preview.History[v.Host].Items, func(i engine.ChangeRecord) bool {
			return i.Name == versionFile(v) && i.State == engine.RevertRestore
		})
	})
}
