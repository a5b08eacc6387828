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

// Plan is the action `etcd_plan`: it decides with the rule of package cluster what each
// etcd host has to do, and changes nothing.
//
// Output: bootstrap (true when all members start at once), order, and hosts: by name,
// each with action, initial_cluster, initial_state, remove_id, reason and serves.
type Plan struct {
	Target   `yaml:",inline"`
	Found    string   `yaml:"found" rule:"variable" doc:"Name under which the etcd hosts registered whether they have data (a stat of the member directory)." required:"true"`
	Only     []string `yaml:"only" rule:"word" doc:"Hosts whose members the run changes; default all. A host is added beside a member that is down only when the run repairs that member first."`
	Restored bool     `yaml:"restored" doc:"The members have restored data, which knows them under the addresses of the inventory, also when their units still have others. Default false."`
}

// apiServerManifest is written only after the cluster's own etcd was healthy, as the mark of
// [markPath] is on etcd hosts, so it proves that this has worked before.
const apiServerManifest = "/etc/kubernetes/manifests/kube-apiserver.yaml"

// ReadOnly is true: a plan changes nothing.
func (*Plan) ReadOnly() bool { return true }

// Check decides. Check fails when a host must stay untouched for a reason that starting the
// other members cannot remove.
func (p *Plan) Check(ctx context.Context, actx engine.ActionContext) (engine.Change, error) {
	c, err := actionctx.Cluster(actx)
	if err != nil {
		return engine.Change{}, err
	}
	e, err := c.EtcdNamed(p.Cluster)
	if err != nil {
		return engine.Change{}, err
	}
	open, err := opener(ctx, actx, e)
	if err != nil {
		return engine.Change{}, err
	}
	hosts := Hosts(e)
	names := make([]string, len(hosts))
	for i, h := range hosts {
		names[i] = h.Name
	}
	if silent := actionctx.Missing(actx, names, p.Found); len(silent) > 0 {
		return engine.Change{}, fmt.Errorf("deciding about etcd: %s did not report whether etcd has data (%q)", strings.Join(silent, ", "), p.Found)
	}
	live := Take(ctx, open, hosts).Live()
	probes := p.probes(actx, hosts)
	if live == nil {
		p.establish(ctx, actx, c.Masters, probes)
		if !p.Restored {
			setListed(probes, ListedPeerURLs(ctx, actx, p.Cluster, hosts))
		}
	}
	plan := cluster.PlanEtcd(probes, live)
	if err := refusal(probes, plan); err != nil {
		return engine.Change{}, err
	}
	return engine.NoChange(planOutput(e, plan)), nil
}

// Apply is never called.
func (p *Plan) Apply(context.Context, engine.ActionContext, engine.Change) (engine.Output, error) {
	return nil, nil
}

func (p *Plan) probes(actx engine.ActionContext, hosts []Host) []cluster.EtcdProbe {
	var probes []cluster.EtcdProbe
	targets := actx.Targets()
	for _, h := range hosts {
		out := actionctx.Registered(actx, h.Name, p.Found)
		exists, _ := out["exists"].(bool)
		probes = append(probes, cluster.EtcdProbe{
			Name: h.Name, PeerURL: h.PeerURL,
			Reachable: out != nil && slices.Contains(targets, h.Name),
			HasData:   exists,
			Unchanged: len(p.Only) > 0 && !slices.Contains(p.Only, h.Name),
		})
	}
	return probes
}

// establish looks on the masters and the etcd hosts for a proof that the etcd cluster has worked
// before. API servers prove it for the cluster's own etcd only: they may have had no other. It matters only when no etcd answers. A proof on a master without etcd is assigned
// to the first etcd host, because the rule only needs its existence.
func (p *Plan) establish(ctx context.Context, actx engine.ActionContext, masters []string, probes []cluster.EtcdProbe) {
	if len(probes) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	var mu sync.Mutex
	var wg sync.WaitGroup
	look := func(host, path string) {
		wg.Go(func() {
			result, err := actx.RunOn(ctx, host, "stat", &stat.Stat{Path: path})
			if exists, _ := result.Output["exists"].(bool); err != nil || !exists {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			i := max(0, slices.IndexFunc(probes, func(h cluster.EtcdProbe) bool { return h.Name == host }))
			probes[i].Established = true
		})
	}
	if nameOrOwn(p.Cluster) == cluster.EtcdOwn {
		for _, master := range masters {
			look(master, apiServerManifest)
		}
	}
	// The loop uses the index: a copy of the whole probe would read fields that other
	// goroutines write.
	for i := range probes {
		look(probes[i].Name, markPath(p.Cluster))
	}
	wg.Wait()
}

// refusal returns the error for a plan that must not be executed. Unreachable hosts have
// left the run already. When members with data are started, etcd_add_member refuses the
// hosts without data one by one, and the next run adds them.
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

func planOutput(e cluster.Etcd, plan cluster.EtcdPlan) engine.Output {
	hosts := map[string]any{}
	for name, step := range plan.Hosts {
		hosts[name] = map[string]any{
			"action":          step.Action,
			"initial_cluster": step.InitialCluster,
			"initial_state":   step.InitialState,
			"remove_id":       formatID(step.RemoveID),
			"reason":          step.Reason,
			"serves":          step.Serves,
		}
	}
	return engine.Output{
		"bootstrap": plan.Bootstrap,
		"order":     plan.Order,
		"hosts":     hosts,
		// A new cluster's values, for templates of hosts that are members already.
		"initial_cluster": e.InitialCluster,
		"initial_state":   "new",
	}
}
