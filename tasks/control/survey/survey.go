// Package survey has the action that examines a running cluster as a whole: which hosts
// hold parts of it, the members of etcd and the Node objects. The package changes nothing, and a
// cluster that does not answer is a finding, not a failure.
package survey

import (
	"context"
	"errors"
	"fmt"
	"time"

	"deployer/cluster"
	"deployer/cluster/compare"
	"deployer/engine"
	"deployer/tasks/control/actionctx"
	"deployer/tasks/control/drain"
	"deployer/tasks/control/etcd"
	"deployer/tasks/control/keyring"
	"deployer/tasks/control/kube"
	"deployer/tasks/control/preflight"
)

// apiTimeout is the maximum time of all requests to the API together. Without etcd each
// request hangs until its timeout.
const apiTimeout = 15 * time.Second

// Survey is the action `survey_cluster`. It fills the *compare.Observed that the program
// provides as a service: what the hosts registered, etcd and the nodes. The program adds
// the hosts that could not be examined and the failed checks.
type Survey struct {
	Kubelet     string `yaml:"kubelet" rule:"variable" doc:"Name under which nodes registered whether the kubelet's configuration is there." required:"true"`
	Etcd        string `yaml:"etcd" rule:"variable" doc:"Name under which etcd hosts registered whether they have data." required:"true"`
	APIServer   string `yaml:"apiserver" rule:"variable" doc:"Name under which masters registered whether the manifest of the API server is there." required:"true"`
	Authorities string `yaml:"authorities" rule:"variable" doc:"Name under which masters registered whether they have the key of the cluster's authority." required:"true"`
	Restore     string `yaml:"restore" rule:"variable" doc:"Name under which etcd hosts registered whether a restore or readdress was interrupted while it replaced data." required:"true"`
	Proxy       string `yaml:"proxy" rule:"variable" doc:"Name under which proxies registered whether their unit is there." required:"true"`
	Versions    string `yaml:"versions" rule:"variable" doc:"Name under which the hosts registered component_versions." required:"true"`
}

// ReadOnly returns true: the action changes nothing.
func (*Survey) ReadOnly() bool { return true }

// Check examines the cluster. The output has under "api" whether an API server answers.
func (s *Survey) Check(ctx context.Context, actx engine.ActionContext) (engine.Change, error) {
	c, err := actionctx.Cluster(actx)
	if err != nil {
		return engine.Change{}, err
	}
	found, ok := engine.Service[*compare.Observed](actx.Services())
	if !ok {
		return engine.Change{}, errors.New("the program that started this run does not ask for a survey")
	}
	found.Hosts = s.hosts(actx)
	if reason := s.cluster(ctx, actx, c, found); reason != nil {
		found.EtcdError, found.APIError = reason.Error(), reason.Error()
	}
	return engine.NoChange(engine.Output{"api": found.APIError == ""}), nil
}

// Apply is never called.
func (*Survey) Apply(context.Context, engine.ActionContext, engine.Change) (engine.Output, error) {
	return nil, nil
}

// hosts returns what the hosts of the run have registered.
func (s *Survey) hosts(actx engine.ActionContext) map[string]compare.Host {
	out := map[string]compare.Host{}
	versions := map[string][]cluster.Running{}
	for _, r := range preflight.FoundVersions(actx, s.Versions) {
		versions[r.Host] = append(versions[r.Host], r)
	}
	for _, host := range actx.Targets() {
		exists := func(name string) bool {
			yes, _ := actionctx.Registered(actx, host, name)["exists"].(bool)
			return yes
		}
		out[host] = compare.Host{
			HasKubelet: exists(s.Kubelet), HasEtcdData: exists(s.Etcd), HasAPIServer: exists(s.APIServer),
			HoldsAuthorities: exists(s.Authorities), HasProxyUnit: exists(s.Proxy), RestoringEtcd: exists(s.Restore),
			Versions: versions[host],
		}
	}
	return out
}

// cluster reads the state of etcd and of the API. An error is the reason why neither
// can be read.
func (s *Survey) cluster(ctx context.Context, actx engine.ActionContext, c *cluster.Cluster, found *compare.Observed) error {
	ring, err := keyring.Of(actx)
	if err != nil {
		return err
	}
	if err := keyring.Ensure(ctx, actx, ring); err != nil {
		return err
	}
	open, err := etcd.OpenWith(ctx, actx, ring, c.Etcd)
	if err != nil {
		return err
	}
	found.Etcd = etcd.Take(ctx, open, etcd.Hosts(c.Etcd)).Live()
	if found.Etcd == nil {
		found.EtcdError = "no etcd member serves"
		for host, url := range etcd.ListedPeerURLs(ctx, actx, cluster.EtcdOwn, etcd.Hosts(c.Etcd)) {
			if h, examined := found.Hosts[host]; examined {
				h.EtcdPeerURL = url
				found.Hosts[host] = h
			}
		}
	}
	if found.Nodes, err = nodes(ctx, actx); err != nil {
		found.APIError = err.Error()
	}
	return nil
}

// nodes returns the Node objects. nodes fails when no API server is ready.
func nodes(ctx context.Context, actx engine.ActionContext) ([]compare.Node, error) {
	ctx, cancel := context.WithTimeout(ctx, apiTimeout)
	defer cancel()
	client, err := kube.Open(ctx, actx)
	if err != nil {
		return nil, err
	}
	if state, ok := client.FindReady(ctx); !ok {
		return nil, fmt.Errorf("no API server is ready: %s", state)
	}
	states, err := kube.Nodes(ctx, client, nil)
	if err != nil {
		return nil, err
	}
	out := []compare.Node{}
	for _, n := range states {
		one := compare.Node{Name: n.Name, Ready: n.Ready, Reason: n.Reason, LacksNetwork: n.LacksNetwork, Version: n.Version, Cordoned: n.Cordoned}
		if n.Cordoned {
			if one.CordonedBy, err = drain.CordonedBy(ctx, client, n.Name); err != nil {
				return nil, fmt.Errorf("reading who cordoned node %s: %w", n.Name, err)
			}
		}
		out = append(out, one)
	}
	return out, nil
}
