// Package upgrade has the actions that decide what an upgrade changes: on the cluster as a
// whole, and on one node, whose pods may have to leave it first. The rules are those of
// package cluster; the actions collect what they need.
package upgrade

import (
	"context"
	"slices"

	"deployer/cluster"
	"deployer/engine"
	"deployer/tasks/control/actionctx"
	"deployer/tasks/control/preflight"
)

// Changes is the action `version_changes`. Changes compares the versions that hosts have with
// the wanted ones.
type Changes struct {
	Found string   `yaml:"found" rule:"variable" doc:"Name under which the hosts registered component_versions." required:"true"`
	Only  []string `yaml:"only" rule:"word" doc:"Programs whose versions change; default all."`
}

// Check returns changes (host, component, from, to), any, irreversible, the texts of changes
// that a rollback does not take back, etcd_minor, whether the minor version of etcd is among
// these, and etcd_repairs, the hosts whose etcd has its version already: when their members
// do not serve, the upgrade repairs these first.
func (c *Changes) Check(_ context.Context, actx engine.ActionContext) (engine.Change, error) {
	want, err := actionctx.Cluster(actx)
	if err != nil {
		return engine.Change{}, err
	}
	found := preflight.FoundVersions(actx, c.Found)
	changes := selected(cluster.VersionChanges(found, want.Wanted()), c.Only)
	list := make([]any, 0, len(changes))
	for _, one := range changes {
		list = append(list, map[string]any{"host": one.Host, "component": one.Component, "from": one.From, "to": one.To})
	}
	change := engine.NoChange(nil)
	irreversible, etcdMinor := []any{}, false
	for _, one := range cluster.Irreversible(changes) {
		etcdMinor = etcdMinor || one.Component == "etcd"
		irreversible = append(irreversible, one.String())
		// A rollback reads the effects: logs of runs keep no outputs, and those on hosts no diffs.
		change.Effects = append(change.Effects, engine.Effect{Kind: engine.EffectShow, Target: IrreversibleTarget, Action: one.String(), Diff: one.String()})
	}
	change.Output = engine.Output{"changes": list, "any": len(list) > 0, "irreversible": irreversible, "etcd_minor": etcdMinor,
		"etcd_repairs": etcdRepairs(found, changes, c.Only)}
	return change, nil
}

// etcdRepairs returns the hosts whose etcd does not change its version in an upgrade that
// installs etcd.
func etcdRepairs(found []cluster.Running, changes []cluster.VersionChange, only []string) []any {
	out := []any{}
	if len(only) > 0 && !slices.Contains(only, "etcd") {
		return out
	}
	for _, r := range found {
		changed := slices.ContainsFunc(changes, func(c cluster.VersionChange) bool { return c.Host == r.Host && c.Component == "etcd" })
		if r.Component == "etcd" && !changed {
			out = append(out, r.Host)
		}
	}
	return out
}

// IrreversibleTarget is the target of the effects that name irreversible changes. Their
// actions have the form of cluster.VersionChange.String.
const IrreversibleTarget = "irreversible changes of versions"

// Apply is never needed.
func (*Changes) Apply(context.Context, engine.ActionContext, engine.Change) (engine.Output, error) {
	return nil, nil
}

// selected returns the changes of some components; of all when only is empty.
func selected(changes []cluster.VersionChange, only []string) []cluster.VersionChange {
	if len(only) == 0 {
		return changes
	}
	return slices.DeleteFunc(changes, func(c cluster.VersionChange) bool { return !slices.Contains(only, c.Component) })
}
