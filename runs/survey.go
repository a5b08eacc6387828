package runs

import (
	"context"
	"maps"
	"strings"

	"deployer/cluster"
	"deployer/cluster/compare"
	"deployer/engine"
	"deployer/engine/journal"
	"deployer/engine/sanitize"
	"deployer/engine/view"
	"deployer/project"
	"deployer/tasks/control/report"
)

// Survey returns a run that examines the cluster of an inventory and changes nothing;
// [Run.Survey] executes it. The limit of the options selects the hosts: "master,etcd" is
// enough to find the nodes and members of the cluster, all hosts are needed to find their
// broken components.
func (c Runner) Survey(o Options) (*Run, error) {
	o.Verb = journal.VerbSurvey
	r, err := c.builtin(o)
	if err != nil {
		return nil, err
	}
	r.observed, r.fetches = &compare.Observed{}, false
	return r, nil
}

// SurveyMembers returns a survey of the hosts that show which hosts a cluster has: masters,
// etcd hosts, and proxies that are no nodes. The survey is enough to find joining hosts, however
// many nodes there are.
func (c Runner) SurveyMembers(o Options) (*Run, error) {
	p, err := project.LoadCluster(o.Inventory, c.Options)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, name := range p.Cluster.Order {
		if n := p.Cluster.Nodes[name]; n.IsMaster || n.IsEtcd || n.RunsProxyUnit {
			names = append(names, name)
		}
	}
	o.Limit = strings.Join(names, ",")
	return c.Survey(o)
}

// Protected returns the hosts without which no run changes the cluster: masters and etcd
// hosts, unless max_fail of the inventory allows to lose some of their group.
func (r *Run) Protected() []string {
	var out []string
	for _, name := range r.Project.Cluster.Order {
		n := r.Project.Cluster.Nodes[name]
		_, masters := r.Project.Inventory.MaxFail[cluster.RoleMaster]
		_, etcd := r.Project.Inventory.MaxFail[cluster.RoleEtcd]
		if n.IsMaster && !masters || n.IsEtcd && !etcd {
			out = append(out, name)
		}
	}
	return out
}

// SurveyResult is the result of a survey.
type SurveyResult struct {
	Observed compare.Observed
	compare.Result
	Report *engine.Report
}

// Survey executes a run of [Runner.Survey] and compares what it found with the wanted
// cluster.
func (r *Run) Survey(ctx context.Context, w Observer) (*SurveyResult, error) {
	rows := &CheckRows{}
	if w.Sink != nil {
		w.Sink = view.Tee(w.Sink, rows)
	} else {
		w.Sink = rows
	}
	done, err := r.Do(ctx, w)
	if err != nil {
		return nil, err
	}
	found := *r.observed
	found.Hosts = maps.Clone(found.Hosts)
	if found.Hosts == nil { // no host has reached the survey of the cluster
		found.Hosts = map[string]compare.Host{}
		found.EtcdError, found.APIError = "no host can be examined", "no host can be examined"
	}
	for _, h := range done.Broken() {
		found.Hosts[h.Host] = compare.Host{Failure: h.Failure.Message}
	}
	problems := report.Problems(rows.All())
	report.Sort(problems)
	for _, row := range problems {
		b := compare.Broken{Host: row.Host, Component: row.Check, Detail: row.Detail, Fix: row.Fix}
		switch h, examined := found.Hosts[row.Host]; {
		case row.Check == "node" || row.Check == "etcd member": // compared by package compare
		case !examined && row.Host != "":
		case row.Host == "" || !compare.Repairable(row.Check):
			found.Problems = append(found.Problems, b)
		default:
			h.Broken = append(h.Broken, b)
			found.Hosts[row.Host] = h
		}
	}
	result := compare.Compare(r.Project.Cluster, found)
	sanitize.Fields(&result) // the API and etcd are on hosts
	return &SurveyResult{Observed: found, Result: result, Report: done}, nil
}
