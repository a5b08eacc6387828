package inuse

import (
	"context"
	"fmt"

	"deployer/engine"
	"deployer/tasks/control/actionctx"
	"deployer/tasks/control/report"
)

// Unchanged is the action `unchanged_cluster`. It fails when the run must not change the cluster
// in use, for playbooks without a preflight_report.
type Unchanged struct {
	Settings string `yaml:"settings" rule:"variable" doc:"Name under which the hosts registered running_settings." required:"true"`
	Network  string `yaml:"network" rule:"variable" doc:"Name under which the hosts registered the files of the pod network. Default: none; then only the API shows nodes that the inventory does not name."`
	// HostsOnly limits the comparison to the names of the hosts' nodes and members.
	HostsOnly bool `yaml:"hosts_only" doc:"Compare only the names of the hosts' nodes and members, for a run that changes nothing else of the cluster. Default false."`
}

// ReadOnly is true: a comparison changes nothing.
func (*Unchanged) ReadOnly() bool { return true }

// Check compares the cluster, and fails with all conflicts in one table.
func (u *Unchanged) Check(ctx context.Context, actx engine.ActionContext) (engine.Change, error) {
	c, err := actionctx.Cluster(actx)
	if err != nil {
		return engine.Change{}, err
	}
	rows := Conflicts(ctx, actx, c, Sources{Settings: u.Settings, Network: u.Network, HostsOnly: u.HostsOnly})
	change := engine.NoChange(report.Output(rows))
	if len(rows) == 0 {
		return change, nil
	}
	return change, &engine.Failure{
		Message: fmt.Sprintf("the cluster in use differs from the inventory in %d ways that this run must not change; nothing was changed", len(rows)),
		Detail:  report.Table(rows),
	}
}

// Apply does nothing: Check never returns a needed change.
func (*Unchanged) Apply(context.Context, engine.ActionContext, engine.Change) (engine.Output, error) {
	return nil, nil
}
