package upgrade

import (
	"context"
	"fmt"
	"regexp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"deployer/cluster"
	"deployer/engine"
	"deployer/tasks/control/actionctx"
	"deployer/tasks/control/drain"
	"deployer/tasks/control/kube"
	"deployer/tasks/control/preflight"
)

// NodeWork is the action `node_work`. NodeWork decides whether pods must leave the host's node
// before an upgrade changes it.
type NodeWork struct {
	Found string   `yaml:"found" rule:"variable" doc:"Name under which the hosts registered component_versions." required:"true"`
	Only  []string `yaml:"only" rule:"word" doc:"Programs whose versions change; default all."`
	Drain string   `yaml:"drain" rule:"in:auto,always,never" doc:"auto: pods leave the node when the work requires it; always; never. Default auto."`
}

// The values of Drain.
const (
	DrainAuto   = "auto"
	DrainAlways = "always"
	DrainNever  = "never"
)

// Check returns intrusive, the reasons for it, and state_files, the kubelet's files that
// must go before it starts with another policy. Check fails when the work needs a drain that
// `never` forbids.
func (n *NodeWork) Check(ctx context.Context, actx engine.ActionContext) (engine.Change, error) {
	if !slices.Contains([]string{"", DrainAuto, DrainAlways, DrainNever}, n.Drain) {
		return engine.Change{}, fmt.Errorf("drain %q is unknown: use auto, always or never", n.Drain)
	}
	want, err := actionctx.Cluster(actx)
	if err != nil {
		return engine.Change{}, err
	}
	if n.Drain == DrainNever {
		return n.decide(n.ofHost(actx, want.Nodes[actx.Host()], want)) // also without an API server
	}
	client, err := kube.Open(ctx, actx)
	if err != nil {
		return engine.Change{}, err
	}
	work, err := n.work(ctx, client, actx, want, actx.Host())
	if err != nil {
		return engine.Change{}, err
	}
	return n.decide(work)
}

// work returns the work on a node, from the versions that its host has and from the API.
func (n *NodeWork) work(ctx context.Context, client *kube.Client, actx engine.ActionContext, want *cluster.Cluster, host string) (cluster.NodeWork, error) {
	node := want.Nodes[host]
	work := n.ofHost(actx, node, want)
	err := look(ctx, client, node.Name, &work)
	return work, err
}

// ofHost returns the work on a node as far as its host knows it.
func (n *NodeWork) ofHost(actx engine.ActionContext, node cluster.Node, want *cluster.Cluster) cluster.NodeWork {
	work := cluster.NodeWork{Changes: n.changes(actx, want, node)}
	if policies := preflight.FoundPolicies(actx, node.Name, n.Found); policies != nil && n.concerns("kubelet") {
		work.Policies = cluster.PolicyChanges(policies, node.KubeletConfig)
	}
	return work
}

// drains reports whether pods leave a node for the work on it. A drain of any node is
// asked for only where a version or a policy changes.
func (n *NodeWork) drains(work cluster.NodeWork) bool {
	if n.Drain == DrainAlways {
		return len(work.Changes)+len(work.Policies) > 0
	}
	return n.Drain != DrainNever && len(work.Intrusive()) > 0
}

// decide returns the output for the work on a node.
func (n *NodeWork) decide(work cluster.NodeWork) (engine.Change, error) {
	reasons := work.Intrusive()
	if n.Drain == DrainNever && len(work.Policies) > 0 {
		return engine.Change{}, fmt.Errorf("%s, which needs a node without its pods: allow the drain", reasons[len(reasons)-1])
	}
	files := []any{}
	for _, p := range work.Policies {
		files = append(files, p.StateFile())
	}
	texts := make([]any, 0, len(reasons))
	for _, r := range reasons {
		texts = append(texts, r)
	}
	intrusive := n.Drain == DrainAlways || n.Drain != DrainNever && len(reasons) > 0
	return engine.NoChange(engine.Output{"intrusive": intrusive, "reasons": texts, "state_files": files}), nil
}

// Apply is never needed.
func (*NodeWork) Apply(context.Context, engine.ActionContext, engine.Change) (engine.Output, error) {
	return nil, nil
}

func (n *NodeWork) concerns(program string) bool {
	return len(n.Only) == 0 || slices.Contains(n.Only, program)
}

// releaseNumbers are the numbers of a version of runc; the rest is the distribution's.
var releaseNumbers = regexp.MustCompile(`\d+\.\d+\.\d+`)

// changes returns the changes of the host's components, with runc's by its numbers.
func (n *NodeWork) changes(actx engine.ActionContext, want *cluster.Cluster, node cluster.Node) []cluster.VersionChange {
	found := preflight.FoundVersions(actx, n.Found)
	here := func(r cluster.Running) bool { return r.Host != node.Name }
	changes := selected(cluster.VersionChanges(found, slices.DeleteFunc(want.Wanted(), here)), n.Only)
	i := slices.IndexFunc(found, func(r cluster.Running) bool { return r.Host == node.Name && r.Component == "runc" })
	if i < 0 || !n.concerns("containerd") {
		return changes
	}
	if from, to := releaseNumbers.FindString(found[i].Version), releaseNumbers.FindString(want.Versions.Runc); from != to {
		changes = append(changes, cluster.VersionChange{Host: node.Name, Component: "runc", From: from, To: to})
	}
	return changes
}

// look reads from the API whether the node is cordoned by deployer, and the pods with host
// ports when the runtime changes.
func look(ctx context.Context, client *kube.Client, node string, work *cluster.NodeWork) error {
	object, err := kube.GetNode(ctx, client, node)
	if err != nil {
		return err
	}
	work.Cordoned = drain.CordonOf(object) == drain.Ours
	runtime := func(c cluster.VersionChange) bool { return c.Component == "containerd" || c.Component == "runc" }
	if !slices.ContainsFunc(work.Changes, runtime) {
		return nil
	}
	pods, err := kube.ListAs[corev1.Pod](ctx, client, kube.PodKind(), "", v1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("spec.nodeName", node).String()})
	if err != nil {
		return fmt.Errorf("listing the pods of node %s: %w", node, err)
	}
	for i := range pods {
		if usesHostPort(&pods[i]) {
			work.HostPorts = append(work.HostPorts, pods[i].Namespace+"/"+pods[i].Name)
		}
	}
	slices.Sort(work.HostPorts)
	return nil
}

// usesHostPort reports whether the runtime forwards a port of the host to the pod. Pods in
// the host's network have the port themselves.
func usesHostPort(p *corev1.Pod) bool {
	return !p.Spec.HostNetwork && slices.ContainsFunc(p.Spec.Containers, func(c corev1.Container) bool {
		return slices.ContainsFunc(c.Ports, func(port corev1.ContainerPort) bool { return port.HostPort != 0 })
	})
}
