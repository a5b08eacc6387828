package etcd

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"deployer/cluster"
	"deployer/engine"
	"deployer/tasks/control/actionctx"
	"deployer/tasks/stat"
)

// Plan is the action `etcd_plan`: it decides what each etcd host has to do, by
// the rule of package cluster, and changes nothing.
//
// Output: bootstrap (true when members start all at once), order, and hosts: by
// name, each with action, initial_cluster, initial_state, remove_id and reason.
type Plan struct {
	Found string `yaml:"found" doc:"Name under which the etcd hosts registered whether they have data (a stat of the member directory)." required:"true"`
}

// apiServerManifest is written only after etcd was healthy, so where it is a
// cluster has worked before.
const apiServerManifest = "/etc/kubernetes/manifests/kube-apiserver.yaml"

// ReadOnly is true.
func (*Plan) ReadOnly() bool { return true }

// Check decides. It fails when a host must not be touched and the reason will
// not go away by starting the others.
func (p *Plan) Check(ctx context.Context, site engine.ActionContext) (engine.Change, error) {
	c, err := actionctx.Cluster(site)
	if err != nil {
		return engine.Change{}, err
	}
	open, err := opener(site)
	if err != nil {
		return engine.Change{}, err
	}
	hosts := Hosts(c)
	names := make([]string, len(hosts))
	for i, h := range hosts {
		names[i] = h.Name
	}
	if silent := actionctx.Missing(site, names, p.Found); len(silent) > 0 {
		return engine.Change{}, fmt.Errorf("nothing is decided about etcd: %s did not say whether there is data (%q)", strings.Join(silent, ", "), p.Found)
	}
	live := Take(ctx, open, hosts).Live()
	probes := p.probes(site, hosts)
	if live == nil {
		establish(ctx, site, c, probes)
	}
	plan := cluster.PlanEtcd(probes, live)
	if err := refusal(probes, plan); err != nil {
		return engine.Change{}, err
	}
	return engine.NoChange(planOutput(c, plan)), nil
}

// Apply is never needed.
func (p *Plan) Apply(context.Context, engine.ActionContext, engine.Change) (engine.Output, error) {
	return nil, nil
}

func (p *Plan) probes(site engine.ActionContext, hosts []Host) []cluster.EtcdProbe {
	var probes []cluster.EtcdProbe
	targets := site.Targets()
	for _, h := range hosts {
		out := actionctx.Registered(site, h.Name, p.Found)
		exists, _ := out["exists"].(bool)
		probes = append(probes, cluster.EtcdProbe{
			Name: h.Name, PeerURL: h.PeerURL,
			Reachable: out != nil && slices.Contains(targets, h.Name),
			HasData:   exists,
		})
	}
	return probes
}

// establish looks on the masters for a sign that the cluster has worked before.
// It matters only when no etcd answers. A sign on a master without etcd is
// booked on the first etcd host: what counts is that there is one.
func establish(ctx context.Context, site engine.ActionContext, c *cluster.Cluster, probes []cluster.EtcdProbe) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, master := range c.Masters {
		wg.Go(func() {
			result, err := site.RunOn(ctx, master, "stat", &stat.Stat{Path: apiServerManifest})
			if exists, _ := result.Output["exists"].(bool); err != nil || !exists || len(probes) == 0 {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			i := max(0, slices.IndexFunc(probes, func(p cluster.EtcdProbe) bool { return p.Name == master }))
			probes[i].Established = true
		})
	}
	wg.Wait()
}

// refusal is the error of a plan that must not be carried out. Hosts that cannot
// be reached are out of the run already. When members with data are woken, those
// without are refused by etcd_add_member on their own, and the next run sees to
// them.
func refusal(probes []cluster.EtcdProbe, plan cluster.EtcdPlan) error {
	if plan.Bootstrap {
		return nil
	}
	var reasons []string
	hosts := map[string][]string{} // by reason
	for _, p := range probes {
		step := plan.Hosts[p.Name]
		if step.Action != cluster.EtcdRefuse || !p.Reachable {
			continue
		}
		if hosts[step.Reason] == nil {
			reasons = append(reasons, step.Reason)
		}
		hosts[step.Reason] = append(hosts[step.Reason], p.Name)
	}
	if len(reasons) == 0 {
		return nil
	}
	for i, reason := range reasons {
		reasons[i] = strings.Join(hosts[reason], ", ") + ": " + reason
	}
	return fmt.Errorf("etcd must not be touched on %s", strings.Join(reasons, "; on "))
}

func planOutput(c *cluster.Cluster, plan cluster.EtcdPlan) engine.Output {
	hosts := map[string]any{}
	for name, step := range plan.Hosts {
		hosts[name] = map[string]any{
			"action":          step.Action,
			"initial_cluster": step.InitialCluster,
			"initial_state":   step.InitialState,
			"remove_id":       formatID(step.RemoveID),
			"reason":          step.Reason,
		}
	}
	return engine.Output{
		"bootstrap": plan.Bootstrap,
		"order":     plan.Order,
		"hosts":     hosts,
		// Of a new cluster, for templates of hosts that are members already.
		"initial_cluster": c.Etcd.InitialCluster,
		"initial_state":   "new",
	}
}
