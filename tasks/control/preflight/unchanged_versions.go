package preflight

import (
	"context"
	"fmt"
	"slices"

	"deployer/cluster"
	"deployer/engine"
	"deployer/tasks/control/actionctx"
	"deployer/tasks/control/report"
)

// UnchangedVersions is the action `unchanged_versions`. UnchangedVersions fails when the inventory has
// another version of a component than the hosts, for playbooks that install components and
// are no upgrade.
type UnchangedVersions struct {
	Found      string   `yaml:"found" rule:"variable" doc:"Name under which the hosts registered component_versions." required:"true"`
	Components []string `yaml:"components" rule:"word" doc:"Programs that the playbook installs, such as kube-apiserver." required:"true"`
}

// ReadOnly is true: a comparison changes nothing.
func (*UnchangedVersions) ReadOnly() bool { return true }

// Check compares the versions, and fails with all differences in one table.
func (u *UnchangedVersions) Check(_ context.Context, actx engine.ActionContext) (engine.Change, error) {
	c, err := actionctx.Cluster(actx)
	if err != nil {
		return engine.Change{}, err
	}
	targets := actx.Targets()
	installed := slices.DeleteFunc(c.Wanted(), func(w cluster.Running) bool {
		return !slices.Contains(u.Components, w.Component) || !slices.Contains(targets, w.Host)
	})
	rows := KeptVersions(actx, u.Found, installed)
	change := engine.NoChange(report.Output(rows))
	if len(rows) == 0 {
		return change, nil
	}
	return change, &engine.Failure{
		Message: fmt.Sprintf("this run would change versions, and only an upgrade does that: %s on %s; nothing was changed", count(len(rows), "problem"), count(report.Hosts(rows), "host")),
		Detail:  report.Table(rows),
	}
}

// Apply does nothing: Check never returns a needed change.
func (*UnchangedVersions) Apply(context.Context, engine.ActionContext, engine.Change) (engine.Output, error) {
	return nil, nil
}
