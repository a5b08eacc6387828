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

// Changes is the action `version_changes`. It compares the versions that hosts have with
// the wanted ones.
type Changes struct {
	Found string   `yaml:"found" doc:"Name under which the hosts registered component_versions." required:"true"`
	Only  []string `yaml:"only" doc:"Programs whose versions change; default all."`
}

// Check returns changes (host, component, from, to), any, and irreversible, the texts of
// changes that a rollback does not take back.
func (c *Changes) Check(_ context.Context, actx engine.ActionContext) (engine.Change, error) {
	want, err := actionctx.Cluster(actx)
	if err != nil {
		return engine.Change{}, err
	}
	changes := selected(cluster.VersionChanges(preflight.FoundVersions(actx, c.Found), want.Wanted()), c.Only)
	list := make([]any, 0, len(changes))
	for _, one := range changes {
		list = append(list, map[string]any{"host": one.Host, "component": one.Component, "from": one.From, "to": one.To})
	}
	change := engine.NoChange(nil)
	irreversible := []any{}
	for _, one := range cluster.Irreversible(changes) {
		irreversible = append(irreversible, one.String())
		// A rollback reads the effects: logs of runs keep no outputs, and those on hosts no diffs.
		change.Effects = append(change.Effects, engine.Effect{Kind: engine.EffectShow, Target: IrreversibleTarget, Action: one.String(), Diff: one.String()})
	}
	change.Output = engine.Output{"changes": list, "any": len(list) > 0, "irreversible": irreversible}
	return change, nil
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
