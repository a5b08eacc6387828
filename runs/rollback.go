package runs

import (
	"fmt"
	"slices"
	"strings"

	"deployer/cluster"
	"deployer/engine"
	"deployer/engine/journal"
	"deployer/project"
	"deployer/tasks/control/upgrade"
)

// LastUpgrade returns the id of the newest upgrade of an inventory that has changed
// something and is not reverted.
func LastUpgrade(inventory string) (string, error) {
	dir, err := journal.Dir()
	if err != nil {
		return "", err
	}
	all, err := journal.List(dir)
	if err != nil && len(all) == 0 {
		return "", err
	}
	if r := lastUpgrade(all, project.Absolute(inventory)); r != nil {
		return r.Header.Run, nil
	}
	return "", project.AsUserError(fmt.Errorf("no upgrade of %s is in the logs of this machine that has not been rolled back; see deployer runs list", inventory))
}

// lastUpgrade returns the newest upgrade of an inventory that has changed something and
// that no finished revert has taken back; nil without one.
func lastUpgrade(newestFirst []*journal.Record, inventory string) *journal.Record {
	reverted := map[string]bool{}
	for _, r := range newestFirst {
		call := r.Header.Invocation
		switch {
		case call.Verb == verbRevert && r.Finished():
			reverted[call.Reverts] = true
		case call.Verb == verbUpgrade && call.Inventory == inventory && !reverted[r.Header.Run] && mayHaveChanged(r):
			return r
		}
	}
	return nil
}

// mayHaveChanged reports whether a run has changed a host, as far as its log shows: a run
// without a report was killed.
func mayHaveChanged(r *journal.Record) bool {
	return r.Report == nil || r.Report.Changed() > 0 || len(r.Report.Broken()) > 0
}

// Rollback is the revert of an upgrade.
type Rollback struct {
	*Revert
	// Lowered are the components whose minor version the rollback lowers although what
	// they have stored may be of the newer one, as "kube-apiserver of m1: v1.36.3 to
	// v1.35.4".
	Lowered []string
	etcd    bool // etcd is among them
}

// Rollback returns the revert of an upgrade, which is named by the beginning of its id.
// Another run is a *project.UserError.
func (c Runner) Rollback(name string, o RevertOptions) (*Rollback, error) {
	back, err := c.Revert(name, o)
	if err != nil {
		return nil, err
	}
	if back.Invocation.Verb != verbUpgrade {
		return nil, project.AsUserError(fmt.Errorf("run %s was deployer %s, not an upgrade; take it back with: deployer revert %s", back.ID, back.Invocation.Verb, back.ID))
	}
	// What the hosts have is what the upgrade wanted, so the rule of the upgrade finds no
	// reason for a drain. The way back of another minor version needs one, too.
	if len(back.log.versions) > 0 && back.Invocation.Extra["upgrade_drain"] == upgrade.DrainAuto {
		o.Extra = mergeVars(map[string]any{"upgrade_drain": upgrade.DrainAlways}, o.Extra)
		if back, err = c.Revert(name, o); err != nil {
			return nil, err
		}
	}
	out := &Rollback{Revert: back}
	out.note()
	return out, nil
}

// note sets Lowered from the log of the upgrade.
func (r *Rollback) note() {
	for _, v := range r.log.versions {
		if r.log.changedVersion(v) {
			r.etcd = r.etcd || v.Component == "etcd"
			r.Lowered = append(r.Lowered, fmt.Sprintf("%s of %s: %s to %s", v.Component, v.Host, v.To, v.From))
		}
	}
}

// Refuse returns a *RefusedError when the rollback lowers a minor version: of etcd in any
// case, as an older etcd does not read the data of a newer one, and of API servers unless
// accepted is set.
func (r *Rollback) Refuse(accepted bool) error {
	switch {
	case r.etcd:
		return &RefusedError{fmt.Errorf("etcd's minor version was raised, and an older etcd does not read its data: %s; restore the snapshot that the upgrade has saved, or keep the version",
			strings.Join(r.Lowered, ", "))}
	case len(r.Lowered) > 0 && !accepted:
		return &RefusedError{fmt.Errorf("the newer API servers may have stored objects in a form that the older ones cannot read: %s; roll back all the same with --lower-minor, or restore the snapshot that the upgrade has saved",
			strings.Join(r.Lowered, ", "))}
	}
	return nil
}

// noteVersions notes the irreversible changes of versions that a run had before it.
func (t *runLog) noteVersions(e *engine.Event) {
	if e.Result.Change == nil || len(t.versions) > 0 {
		return
	}
	for _, effect := range e.Result.Change.Effects {
		if effect.Kind != engine.EffectShow || effect.Target != upgrade.IrreversibleTarget {
			continue
		}
		for text := range strings.Lines(effect.Diff) {
			if v, ok := cluster.ParseVersionChange(strings.TrimSpace(text)); ok {
				t.versions = append(t.versions, v)
			}
		}
	}
}

// changedVersion reports whether the run came to change a version on a host: a step there
// has changed the manifest of the component, or its binary.
func (t *runLog) changedVersion(v cluster.VersionChange) bool {
	target := "/etc/kubernetes/manifests/" + v.Component + ".yaml"
	if v.Component == "etcd" {
		target = "/usr/local/bin/etcd"
	}
	return slices.ContainsFunc(t.changed[v.Host], func(s changedStep) bool { return slices.Contains(s.targets, target) })
}
