// Package departure checks whether hosts may leave the cluster, before a run changes
// anything: whether etcd keeps its quorum, whether every pod can move, and whether the
// hosts are in the state that the user named.
package departure

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"deployer/cluster"
	"deployer/engine"
	"deployer/tasks/control/drain"
	"deployer/tasks/control/etcd"
	"deployer/tasks/control/inuse"
	"deployer/tasks/control/kube"
	"deployer/tasks/control/preflight"
	"deployer/tasks/control/report"
)

// Report is the action `departure_report`. Report fails with all reasons why hosts must not
// leave.
type Report struct {
	Hosts              []string          `yaml:"hosts" rule:"word" doc:"Hosts that leave and must be reachable."`
	Dead               []string          `yaml:"dead" rule:"word" doc:"Names that leave and must not be alive: their node is not Ready, their etcd member does not answer."`
	Nodes              []string          `yaml:"nodes" rule:"word" doc:"Names of the nodes that leave."`
	Members            []string          `yaml:"members" rule:"word" doc:"Names of the etcd members that leave."`
	PeerURLs           map[string]string `yaml:"peer_urls" rule:"url" keys:"word" doc:"Peer URLs of members by name, as far as they are known."`
	Unknown            []string          `yaml:"unknown" rule:"word" doc:"Names in dead that the inventory does not have: there must be a node or an etcd member of that name."`
	DeleteEmptyDirData bool              `yaml:"delete_emptydir_data" doc:"As in kube_drain. Default false."`
	Force              bool              `yaml:"force" doc:"As in kube_drain. Default false."`
	DisableEviction    bool              `yaml:"disable_eviction" doc:"As in kube_drain. Default false."`
	KeepNodes          bool              `yaml:"keep_nodes" doc:"The hosts become minions and keep their nodes. Default false."`
	Settings           string            `yaml:"settings" rule:"variable" doc:"Name under which the hosts registered running_settings; default: the cluster in use is not compared with the inventory."`
	Network            string            `yaml:"network" rule:"variable" doc:"With settings: name under which the hosts registered the files of the pod network."`
	Versions           string            `yaml:"versions" rule:"variable" doc:"Name under which the hosts registered component_versions; default: versions are not compared."`
}

// ReadOnly is true: a report changes nothing.
func (*Report) ReadOnly() bool { return true }

// Check collects the rows, and fails when one is a problem. The output has all rows.
func (r *Report) Check(ctx context.Context, actx engine.ActionContext) (engine.Change, error) {
	rows := r.rows(ctx, actx)
	report.Sort(rows)
	change := engine.NoChange(report.Output(rows))
	problems := report.Problems(rows)
	if len(problems) == 0 {
		return change, nil
	}
	return change, &engine.Failure{
		Message: fmt.Sprintf("%s cannot leave the cluster: %s; nothing was changed", strings.Join(slices.Concat(r.Hosts, r.Dead), ", "), reasons(len(problems))),
		Detail:  report.Table(problems),
	}
}

// Apply does nothing: Check never returns a needed change.
func (*Report) Apply(context.Context, engine.ActionContext, engine.Change) (engine.Output, error) {
	return nil, nil
}

func reasons(n int) string {
	if n == 1 {
		return "1 reason"
	}
	return fmt.Sprintf("%d reasons", n)
}

func (r *Report) rows(ctx context.Context, actx engine.ActionContext) []report.Row {
	rows := slices.Concat(r.connections(actx.Targets()), r.versions(actx), r.conflicts(ctx, actx))
	live, found := r.etcd(ctx, actx, cluster.EtcdOwn)
	rows = append(rows, found...)
	if c, ok := engine.Service[*cluster.Cluster](actx.Services()); ok {
		for _, name := range c.EtcdNames()[1:] {
			_, found = r.etcd(ctx, actx, name)
			rows = append(rows, found...)
		}
	}
	client, err := kube.Open(ctx, actx)
	if err != nil {
		return append(rows, report.Bad("api", "", "%v", err))
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	states, err := kube.Nodes(ctx, client, nil)
	if err != nil {
		return append(rows, report.Bad("api", "", "%v", err).Advised("a master that stays must answer"))
	}
	nodes := map[string]kube.NodeState{}
	for _, s := range states {
		nodes[s.Name] = s
	}
	rows = append(rows, r.dead(nodes, live)...)
	for _, name := range r.Nodes {
		if _, exists := nodes[name]; exists && !slices.Contains(r.Dead, name) {
			rows = append(rows, r.pods(ctx, client, name)...)
		}
	}
	return rows
}

// versions returns a row for each component that the run installs again and whose version
// the inventory changes.
func (r *Report) versions(actx engine.ActionContext) []report.Row {
	c, ok := engine.Service[*cluster.Cluster](actx.Services())
	if !ok || r.Versions == "" {
		return nil
	}
	rows := preflight.KeptVersions(actx, r.Versions, r.installed(c))
	if r.KeepNodes {
		for _, host := range r.Hosts {
			for _, p := range cluster.RefusePolicies(host, preflight.FoundPolicies(actx, host, r.Versions), c.Nodes[host]) {
				rows = append(rows, report.Bad("versions", host, "%s", p.Message).Advised("take the policy back for the host, or upgrade first"))
			}
		}
	}
	return rows
}

// conflicts returns the rows of what the run must not change in the cluster beside the hosts that
// leave it.
func (r *Report) conflicts(ctx context.Context, actx engine.ActionContext) []report.Row {
	c, ok := engine.Service[*cluster.Cluster](actx.Services())
	if !ok || r.Settings == "" {
		return nil
	}
	rows := inuse.Conflicts(ctx, actx, c, inuse.Sources{Settings: r.Settings, Network: r.Network, Leaving: slices.Concat(r.Hosts, r.Dead, r.Nodes, r.Members)})
	return rows
}

// installed returns the components that the run installs again: the control planes of the
// masters that stay, whose arguments list the etcd members, and kubelet and kube-proxy of
// masters that become minions.
func (r *Report) installed(c *cluster.Cluster) []cluster.Running {
	return slices.DeleteFunc(c.Wanted(), func(w cluster.Running) bool {
		switch w.Component {
		case "kube-apiserver", "kube-controller-manager", "kube-scheduler":
			return len(r.Members) == 0
		case "kubelet", "kube-proxy":
			return !r.KeepNodes || !slices.Contains(r.Hosts, w.Host)
		}
		return true
	})
}

// connections returns a row for each host that leaves and is not in the run any more.
func (r *Report) connections(targets []string) []report.Row {
	var rows []report.Row
	for _, host := range r.Hosts {
		if !slices.Contains(targets, host) {
			rows = append(rows, report.Bad("connection", host, "the host cannot be reached").
				Advised("when it does not come back: deployer scale-down --dead "+host))
		}
	}
	return rows
}

// etcd returns the running etcd cluster with a name, nil when no member answers, and the rows of its
// members.
func (r *Report) etcd(ctx context.Context, actx engine.ActionContext, name string) (*cluster.EtcdLive, []report.Row) {
	live, err := etcd.Observe(ctx, actx, name)
	if err != nil {
		return nil, []report.Row{report.Bad(name, "", "%v", err)}
	}
	return live, r.members(name, live)
}

// members returns the row for the removal of members of the etcd cluster with a name, and one for
// each member that is said to be dead and answers.
func (r *Report) members(etcdName string, live *cluster.EtcdLive) []report.Row {
	if live == nil || len(r.Members) == 0 {
		return nil
	}
	var rows []report.Row
	var ids []uint64
	for _, name := range r.Members {
		m, listed := live.Member(name, r.PeerURLs[name])
		if !listed {
			continue
		}
		ids = append(ids, m.ID)
		if m.Healthy && slices.Contains(r.Dead, name) {
			rows = append(rows, report.Bad("dead", name, "its %s member answers", etcdName).Advised("stop the host, or leave out --dead"))
		}
	}
	if _, err := cluster.PlanEtcdRemoval(live, ids); err != nil {
		return append(rows, report.Bad(etcdName+" quorum", "", "%v", err).Advised("bring the other members back first"))
	}
	return append(rows, report.OK(etcdName+" quorum", "", "%d members leave, %d stay", len(ids), len(live.Members)-len(ids)))
}

// dead returns rows for nodes that are said to be dead and are Ready, and for names that
// the cluster does not know.
func (r *Report) dead(nodes map[string]kube.NodeState, live *cluster.EtcdLive) []report.Row {
	var rows []report.Row
	for _, name := range r.Dead {
		node, isNode := nodes[name]
		if isNode && node.Ready {
			rows = append(rows, report.Bad("dead", name, "its node is Ready").Advised("stop the host, or leave out --dead; a node that has died is NotReady within a minute"))
		}
		if slices.Contains(r.Unknown, name) && !isNode && live != nil {
			if _, listed := live.Member(name, ""); !listed {
				rows = append(rows, report.Bad("name", name, "neither the inventory, nor a Node object, nor an etcd member has this name").
					Advised("check the spelling; when an earlier run has removed it, nothing is left to do"))
			}
		}
	}
	return rows
}

// pods returns rows for pods that a drain refuses, and for pods whose disruption budget
// can never be met.
func (r *Report) pods(ctx context.Context, client *kube.Client, node string) []report.Row {
	s, err := drain.ReadNode(ctx, client, node, drain.Options{DeleteEmptyDirData: r.DeleteEmptyDirData, Force: r.Force, DisableEviction: r.DisableEviction})
	if err != nil {
		return []report.Row{report.Bad("pods", node, "%v", err)}
	}
	var rows []report.Row
	for pod, why := range s.NeverEvictable {
		rows = append(rows, report.Bad("disruption budget", node, "pod %s: %s", pod, why).Advised("raise the replicas or change the budget"))
	}
	if len(rows) == 0 {
		rows = append(rows, report.OK("pods", node, "%d pods move", len(s.Pods)))
	}
	return rows
}
