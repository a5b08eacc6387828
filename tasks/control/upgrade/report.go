package upgrade

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"deployer/cluster"
	"deployer/engine"
	"deployer/shortlist"
	"deployer/tasks/control/actionctx"
	"deployer/tasks/control/drain"
	"deployer/tasks/control/kube"
	"deployer/tasks/control/preflight"
	"deployer/tasks/control/report"
)

// Report is the action `upgrade_report`. Report fails with all reasons, as far as the
// Kubernetes API knows them, why an upgrade would fail at a node later. It is no
// engine.ReadOnlyTask, since a revert repeats those: a rollback must not be refused for a
// node that is gone or an API that does not answer.
type Report struct {
	Found string   `yaml:"found" rule:"variable" doc:"Name under which the hosts registered component_versions." required:"true"`
	Only  []string `yaml:"only" rule:"word" doc:"As in node_work."`
	Drain string   `yaml:"drain" rule:"in:auto,always,never" doc:"As in node_work."`
}

// Check collects the rows, and fails when one is a problem. The output has all rows.
func (r *Report) Check(ctx context.Context, actx engine.ActionContext) (engine.Change, error) {
	want, err := actionctx.Cluster(actx)
	if err != nil {
		return engine.Change{}, err
	}
	client, err := kube.Open(ctx, actx)
	if err != nil {
		return engine.Change{}, err
	}
	rows, err := r.rows(ctx, client, actx, want)
	if err != nil {
		return engine.Change{}, err
	}
	report.Sort(rows)
	change := engine.NoChange(report.Output(rows))
	if len(rows) == 0 {
		return change, nil
	}
	return change, &engine.Failure{
		Message: fmt.Sprintf("the upgrade would fail on %s; nothing was changed", shortlist.Count(report.Hosts(rows), "host")),
		Detail:  report.Table(rows),
	}
}

// Apply does nothing: Check never returns a needed change.
func (*Report) Apply(context.Context, engine.ActionContext, engine.Change) (engine.Output, error) {
	return nil, nil
}

// rows returns a row for each problem.
func (r *Report) rows(ctx context.Context, client *kube.Client, actx engine.ActionContext, want *cluster.Cluster) ([]report.Row, error) {
	states, err := kube.Nodes(ctx, client, nil)
	if err != nil {
		return nil, err
	}
	registered := map[string]bool{}
	for _, s := range states {
		registered[s.Name] = true
	}
	commands, _ := engine.Service[preflight.Commands](actx.Services())
	blocked, err := drain.NodesWithImpossibleBudgets(ctx, client)
	if err != nil {
		return nil, err
	}
	var rows []report.Row
	for _, host := range actx.Targets() {
		switch {
		case want.Nodes[host].IsNode && !registered[host]:
			rows = append(rows, report.Bad("node", host, "the cluster has no node of this name, and an upgrade adds none").Advised(commands.Join(host)))
		case blocked[host]:
			more, err := r.budgets(ctx, client, actx, want, host)
			if err != nil {
				return nil, err
			}
			rows = append(rows, more...)
		}
	}
	return rows, nil
}

// budgets returns a row for each pod that the upgrade would evict from a host's node, and
// whose disruption budget can never be met.
func (r *Report) budgets(ctx context.Context, client *kube.Client, actx engine.ActionContext, want *cluster.Cluster, host string) ([]report.Row, error) {
	n := &NodeWork{Found: r.Found, Only: r.Only, Drain: r.Drain}
	work, err := n.work(ctx, client, actx, want, host)
	if err != nil || !n.drains(work) {
		return nil, err
	}
	s, err := drain.ReadNode(ctx, client, host, drain.Options{DeleteEmptyDirData: true})
	if err != nil {
		return []report.Row{report.Bad("pods", host, "%v", err)}, nil
	}
	var rows []report.Row
	for _, pod := range slices.Sorted(maps.Keys(s.NeverEvictable)) {
		rows = append(rows, report.Bad("disruption budget", host, "pod %s: %s", pod, s.NeverEvictable[pod]).
			Advised("raise the replicas or change the budget; --drain never leaves the pods on the node"))
	}
	return rows, nil
}
