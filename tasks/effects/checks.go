package effects

import (
	"context"
	"time"

	"deployer/engine"
	"deployer/tasks/checkresult"
	"deployer/tasks/poll"
)

// Checks observes a node and compares it with what deployer has configured there. A problem is a
// row of the output, not a failure.
type Checks struct {
	StaticPods []string          `yaml:"static_pods" rule:"filename" doc:"names of the manifests in /etc/kubernetes/manifests that deployer writes, such as kube-proxy.yaml"`
	CNI        string            `yaml:"cni" rule:"filename" doc:"name of the file in /etc/cni/net.d that containerd must use; default: none is wanted"`
	Rules      bool              `yaml:"rules" doc:"the table of nftables with the rules for pods must be loaded. Default false"`
	Services   string            `yaml:"services" rule:"in:iptables,nftables" doc:"mode of kube-proxy, whose rules must be loaded. Default: none are wanted"`
	Families   []string          `yaml:"families" rule:"in:ipv4,ipv6" doc:"families of addresses of pods, each with a table of its own; default ipv4"`
	Servers    bool              `yaml:"name_servers" doc:"pods of cluster DNS must have the name servers of the host. Default false"`
	DNSCache   string            `yaml:"dns_cache" rule:"address" doc:"address of a DNS cache that the inventory has no more, and that stays on the host while pods use it. Default: none"`
	Outside    []string          `yaml:"outside" rule:"endpoint" doc:"IP addresses with ports of servers over TCP outside of the pod range, which pods of the host must reach as the host does; the host's name servers are tried, too. Default: none"`
	PodRange   string            `yaml:"pod_range" rule:"prefix" doc:"range of the addresses of pods, for the commands that let them pass a firewall"`
	Routers    []string          `yaml:"routers" rule:"word" doc:"names of BIRD's sessions with routers outside of the cluster, one of which must be established. Default: none"`
	Sockets    []string          `yaml:"sockets" rule:"path" doc:"BIRD's control sockets, for routers"`
	Settings   map[string]string `yaml:"settings" rule:"line" keys:"sysctl" doc:"kernel settings that must hold now and after the next boot"`
	Within     time.Duration     `yaml:"within" range:"0s.." doc:"maximum wait for static pods that this run starts, so that a dry run has no rows. Default 0"`
}

var _ engine.Module = (*Checks)(nil)

// waitEvery is the interval at which static pods are looked at again.
const waitEvery = 2 * time.Second

// Check observes the host, except in a dry run with Within. The output has a row for each check, and under "outdated_pods" the
// pods of cluster DNS that started with other name servers than the host has now.
func (c *Checks) Check(ctx context.Context, sys engine.System) (engine.Change, error) {
	if view, ok := sys.(engine.DryRunView); ok && view.CheckOnly() && c.Within > 0 {
		return engine.NoChange(checkresult.Output(nil)), nil // the changes that are waited for are not made
	}
	found := c.observe(ctx, sys)
	for deadline := time.Now().Add(c.Within); found.podsProblem() && time.Now().Before(deadline); {
		if err := poll.Sleep(ctx, waitEvery); err != nil {
			return engine.Change{}, err
		}
		found.Pods = c.observePods(ctx, sys)
	}
	out := checkresult.Output(Rows(*c, found))
	outdated := []any{}
	for _, pod := range outdatedPods(found) {
		outdated = append(outdated, pod)
	}
	out["outdated_pods"] = outdated
	return engine.NoChange(out), nil
}

// Apply is never needed.
func (*Checks) Apply(context.Context, engine.System, engine.Change) (engine.Output, error) {
	return nil, nil
}
