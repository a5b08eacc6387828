package verify

import (
	"context"
	"slices"
	"strings"
	"time"

	"deployer/cluster"
	"deployer/engine"
	"deployer/tasks/control/actionctx"
	"deployer/tasks/control/drain"
	"deployer/tasks/control/etcd"
	"deployer/tasks/control/keyring"
	"deployer/tasks/control/kube"
	"deployer/tasks/control/report"
	"deployer/tasks/effects"
	"deployer/tasks/stat"
)

// ClusterTask is the action `verify_cluster`. The actions of this package do not fail
// on problems: the output contains a row for each check under "checks", and the rows
// that are not ok under "problems".
type ClusterTask struct {
	ReportWithin time.Duration `yaml:"report_within" range:"0s.." doc:"Maximum wait for static pods that the API does not have or that have just started: a kubelet that has replaced a pod while its API server was away reports it up to 90 s later. Default 0."`
}

// Check returns the rows of [Cluster].
func (t *ClusterTask) Check(ctx context.Context, actx engine.ActionContext) (engine.Change, error) {
	c, client, err := tools(ctx, actx)
	if err != nil {
		return engine.Change{}, err
	}
	rows, err := awaitReports(ctx, t.ReportWithin, func() []report.Row { return Cluster(ctx, client, c) })
	return engine.NoChange(report.Output(rows)), err
}

// Apply is never needed.
func (*ClusterTask) Apply(context.Context, engine.ActionContext, engine.Change) (engine.Output, error) {
	return nil, nil
}

// EtcdTask is the action `verify_etcd`: it checks the members of all etcd clusters that the cluster has.
type EtcdTask struct {
	Repaired []string `yaml:"repaired" rule:"word" doc:"Hosts whose members this run repairs: a member there that does not serve is no problem as long as a majority serves."`
}

// Check returns the rows of the etcd members. Check fails when the keyring is empty.
func (t *EtcdTask) Check(ctx context.Context, actx engine.ActionContext) (engine.Change, error) {
	c, err := actionctx.Cluster(actx)
	if err != nil {
		return engine.Change{}, err
	}
	ring, err := keyring.Of(actx)
	if err != nil {
		return engine.Change{}, err
	}
	var rows []report.Row
	for _, name := range c.EtcdNames() {
		e, err := c.EtcdNamed(name)
		if err != nil {
			return engine.Change{}, err
		}
		open, err := etcd.OpenWith(ctx, actx, ring, e)
		if err != nil {
			return engine.Change{}, err
		}
		rows = append(rows, etcd.Rows(ctx, open, name, etcd.Hosts(e), t.Repaired...)...)
	}
	return engine.NoChange(report.Output(rows)), nil
}

// Apply is never needed.
func (*EtcdTask) Apply(context.Context, engine.ActionContext, engine.Change) (engine.Output, error) {
	return nil, nil
}

// PodsTask is the action `verify_pods`: it checks DNS, Services and connections from
// test pods.
type PodsTask struct {
	Image    string        `yaml:"image" rule:"image" doc:"Image of the probe; it is not pulled and must be on the nodes." required:"true"`
	Nodes    int           `yaml:"nodes" range:"0.." doc:"Maximum number of nodes with a probe pod; default 10."`
	Include  []string      `yaml:"include" rule:"node" doc:"Nodes that have a probe pod in any case, whether they are Ready or cordoned; default none."`
	Cordoned bool          `yaml:"cordoned" doc:"Test only when deployer has cordoned nodes, as it does with nodes that join: those that are Ready have a probe pod in any case, and those that are not are problems. Their names are the output nodes. Default false."`
	Outside  string        `yaml:"outside" rule:"host" doc:"DNS name outside of the cluster that the probe pods resolve; default none."`
	Timeout  time.Duration `yaml:"timeout" range:"0s.." doc:"Maximum duration of the whole check; default 320s."`
}

// Check runs the test pods and removes them again, so the cluster stays unchanged. In a
// dry run it does nothing.
func (p *PodsTask) Check(ctx context.Context, actx engine.ActionContext) (engine.Change, error) {
	c, client, err := tools(ctx, actx)
	if err != nil || actx.CheckOnly() {
		return engine.Change{}, err
	}
	o := Options{
		Image: p.Image, Nodes: p.Nodes, Of: c.NodeNames, Include: p.Include, Outside: p.Outside, Timeout: p.Timeout,
		Domain: c.DNS.Domain, ServiceIP: c.ServiceIP, Further: c.FurtherFamily(), Progress: actx.Progress,
		OnNode: func(ctx context.Context, node string) []report.Row { return egress(ctx, actx, c, node) },
	}
	var joining []string
	if p.Cordoned {
		if joining, err = drain.CordonedNodes(ctx, client); err != nil || len(joining) == 0 {
			return engine.NoChange(joined(nil, nil)), err
		}
		o.Joining = joining
	}
	if o.Outside != "" && !resolvable(ctx, actx, c) {
		o.Outside, o.NoOutside = "", "no upstream resolver: cluster.dns.upstreams is empty and the nodes' /etc/resolv.conf names none"
	}
	return engine.NoChange(joined(Pods(ctx, client, o), joining)), nil
}

// egress returns the row of a node about the way of its pods out of the cluster, from a probe pod
// where no other pod has a network of its own; nothing when the node does not answer.
func egress(ctx context.Context, actx engine.ActionContext, c *cluster.Cluster, node string) []report.Row {
	e := c.Nodes[node].Effects
	result, err := actx.RunOn(ctx, node, "effects_check", &effects.Checks{CNI: e.CNI, Rules: e.Rules, Families: c.Families, Outside: e.Outside, PodRange: c.PodCIDRs[0]})
	if err != nil || result.Failure != nil {
		return nil
	}
	return slices.DeleteFunc(report.OfHost(node, result.Output), func(r report.Row) bool { return r.Check != effects.CheckEgress })
}

// joined returns the output for rows, with the cordoned nodes that were tested.
func joined(rows []report.Row, nodes []string) engine.Output {
	out := report.Output(rows)
	out["nodes"] = append([]string{}, nodes...)
	return out
}

// Apply is never needed.
func (p *PodsTask) Apply(context.Context, engine.ActionContext, engine.Change) (engine.Output, error) {
	return nil, nil
}

// resolvable reports whether the cluster's DNS has an upstream server for names outside
// of the cluster, from the inventory or from the resolv.conf of a node. resolvable returns true
// when no node can be queried.
func resolvable(ctx context.Context, actx engine.ActionContext, c *cluster.Cluster) bool {
	if len(c.DNS.Upstreams) > 0 {
		return true
	}
	const path = "/etc/resolv.conf"
	for _, node := range c.NodeNames {
		result, err := actx.RunOn(ctx, node, "read", &stat.Read{Paths: []string{path}, MissingOK: true})
		if err != nil || result.Failure != nil {
			continue
		}
		files, _ := result.Output["files"].(map[string]any)
		text, _ := files[path].(string)
		for line := range strings.Lines(text) {
			if strings.HasPrefix(strings.TrimSpace(line), "nameserver") {
				return true
			}
		}
		return false
	}
	return true
}

// tools returns the resolved cluster and a client that retries for 5 s only.
func tools(ctx context.Context, actx engine.ActionContext) (*cluster.Cluster, *kube.Client, error) {
	c, err := actionctx.Cluster(actx)
	if err != nil {
		return nil, nil, err
	}
	access, err := kube.AccessOf(ctx, actx)
	if err != nil {
		return nil, nil, err
	}
	client, err := access.Any()
	if err != nil {
		return nil, nil, err
	}
	return c, client.WithRetryTimeout(5 * time.Second), nil
}
