// Package preflight collects the checks of all hosts before the first change, and ends a
// run that would fail later with all problems at once.
package preflight

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"deployer/cluster"
	"deployer/engine"
	"deployer/tasks/control/inuse"
	"deployer/tasks/control/report"
)

// Report is the action `preflight_report`. Report fails with a *Problems when a host has a
// problem.
type Report struct {
	Checks   string        `yaml:"checks" rule:"variable" doc:"Name under which the hosts registered host_checks." required:"true"`
	Expected []string      `yaml:"expected" rule:"word" doc:"Hosts that must take part; a host that has left the run is a problem. Default: the hosts of the task."`
	Settings string        `yaml:"settings" rule:"variable" doc:"Name under which the hosts registered running_settings; default: the hosts and the cluster in use are not compared with the inventory."`
	Network  string        `yaml:"network" rule:"variable" doc:"With settings: name under which the hosts registered the files of the pod network."`
	Versions string        `yaml:"versions" rule:"variable" doc:"Name under which the hosts registered component_versions; default: versions are not compared."`
	InUse    bool          `yaml:"in_use" doc:"The cluster is in use although no API server is installed, as in a restore: versions are compared, too, and what etcd and the API answer is not. Default false."`
	Upgrade  bool          `yaml:"upgrade" doc:"The run is an upgrade: versions may become newer, in steps that the components support. Default false: in a cluster in use, another version is a problem."`
	Plugin   bool          `yaml:"change_plugin" doc:"The run replaces the network plugin of nodes in use, which no other run does; default false."`
	Drops    bool          `yaml:"drop_policies" doc:"With change_plugin: the user accepts that no policy is enforced any more; default false."`
	Only     []string      `yaml:"only" rule:"word" doc:"With upgrade: programs whose versions change; default all."`
	MaxSkew  time.Duration `yaml:"max_skew" range:"0s.." doc:"Largest difference between the clocks of a host and of the controller; default 2s."`
}

// NewReport returns the action with its defaults. Two seconds of skew are far below the
// backdating of certificates (5 min) and the tolerance of leases (15 s), and far above
// the skew of a host with a working time service.
func NewReport() *Report { return &Report{MaxSkew: 2 * time.Second} }

// Problems is the error of a preflight with problems.
type Problems struct {
	Rows []report.Row
}

func (p *Problems) Error() string {
	return p.summary() + "\n" + report.Table(p.Rows)
}

// Unwrap returns the error as an *engine.Failure.
func (p *Problems) Unwrap() error {
	return &engine.Failure{Message: p.summary(), Detail: report.Table(p.Rows)}
}

func (p *Problems) summary() string {
	return fmt.Sprintf("preflight found %s on %s; nothing was changed", count(len(p.Rows), "problem"), count(report.Hosts(p.Rows), "host"))
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Check collects the rows, and fails when one is a problem. The output has all rows in
// both cases.
func (r *Report) Check(ctx context.Context, actx engine.ActionContext) (engine.Change, error) {
	rows := r.Gather(ctx, actx)
	change := engine.NoChange(report.Output(rows))
	if problems := report.Problems(rows); len(problems) > 0 {
		return change, &Problems{Rows: problems}
	}
	return change, nil
}

// Apply does nothing: Check never returns a needed change.
func (r *Report) Apply(context.Context, engine.ActionContext, engine.Change) (engine.Output, error) {
	return nil, nil
}

// maxQueries is the maximum number of concurrent queries of hosts; more would only queue
// in the controller and distort the clock readings.
const maxQueries = 50

// Gather returns the rows of all hosts: their own checks, the comparisons of the
// controller, and rows for missing hosts.
func (r *Report) Gather(ctx context.Context, actx engine.ActionContext) []report.Row {
	targets := actx.Targets()
	var rows []report.Row
	for _, host := range r.Expected {
		if !slices.Contains(targets, host) {
			rows = append(rows, report.Bad("connection", host, "the host dropped out before its checks were done").
				Advised("see the failure of this host above"))
		}
	}
	for _, host := range targets {
		rows = append(rows, report.OfHost(host, actx.Registered(host, r.Checks))...)
	}
	found := identifyAll(ctx, actx, targets)
	for _, id := range found {
		rows = append(rows, r.evaluate(id)...)
	}
	rows = append(rows, duplicates(found)...)
	rows = append(rows, r.versions(actx)...)
	rows = append(rows, r.conflicts(ctx, actx)...)
	report.Sort(rows)
	return rows
}

// conflicts returns the rows of what the run must not change in a cluster in use.
func (r *Report) conflicts(ctx context.Context, actx engine.ActionContext) []report.Row {
	c, ok := engine.Service[*cluster.Cluster](actx.Services())
	if !ok || r.Settings == "" {
		return nil
	}
	return inuse.Conflicts(ctx, actx, c, inuse.Sources{Settings: r.Settings, Network: r.Network, HostsOnly: r.InUse, ChangesPlugin: r.Plugin, DropsPolicies: r.Drops})
}

func identifyAll(ctx context.Context, actx engine.ActionContext, hosts []string) []identity {
	found := make([]identity, len(hosts))
	var wg sync.WaitGroup
	slots := make(chan struct{}, maxQueries)
	for i, host := range hosts {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			found[i] = identify(ctx, actx, host)
		})
	}
	wg.Wait()
	return found
}
