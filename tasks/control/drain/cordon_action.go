package drain

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"deployer/engine"
	"deployer/tasks/control/kube"
)

// CordonAction is the action `kube_cordon`. Several nodes that are to be drained are
// cordoned first, so that no pod moves from one of them to another. With Create a host
// that joins the cluster registers as a node that is cordoned already.
type CordonAction struct {
	Node      string `yaml:"node" rule:"node" doc:"Node to cordon; default: the host's own."`
	MissingOK bool   `yaml:"missing_ok" doc:"Do nothing when there is no such node. Default false."`
	Create    bool   `yaml:"create" doc:"Create the Node object, cordoned, when there is none, before the kubelet registers; do nothing when there is one. A host that fails keeps the cordon. Default false."`
	// APIOptional is for installations: the first API server runs below a kubelet.
	APIOptional bool  `yaml:"api_optional" doc:"With create: do nothing when no API server responds within 5 s, as before the first one is installed. Default false."`
	CPUs        int   `yaml:"cpus" range:"0.." doc:"With create: processors that the Node object has until the kubelet reports its own; default 1."`
	Memory      int64 `yaml:"memory" range:"0.." doc:"With create: bytes of memory that the Node object has until the kubelet reports its own; default 2147483648, which is 2 GiB."`
	// Network plugins look at a node when its object appears.
	Addresses []string `yaml:"addresses" rule:"address" doc:"With create: addresses that the Node object has until the kubelet reports its own; default: none."`
}

// optionalAPI is the time within which an API server that need not be there responds.
const optionalAPI = 5 * time.Second

// Check reports a node that accepts pods.
func (a *CordonAction) Check(ctx context.Context, actx engine.ActionContext) (engine.Change, error) {
	client, err := kube.Open(ctx, actx)
	if err != nil {
		return engine.Change{}, err
	}
	if a.APIOptional {
		if _, ready := client.WithRetryTimeout(optionalAPI).FindReady(ctx); !ready {
			return engine.Change{}, ctx.Err()
		}
	}
	name := nodeOf(a.Node, actx)
	node, err := kube.GetNode(ctx, client, name)
	switch {
	case a.Create && apierrors.IsNotFound(err):
		return engine.Changed(engine.Effect{Kind: engine.EffectObject, Target: targetOf(a.Node), Action: "create, cordoned until the host has joined"}), nil
	case apierrors.IsNotFound(err) && a.MissingOK, err == nil && a.Create:
		return engine.Change{}, nil
	}
	if err != nil {
		return engine.Change{}, err
	}
	is := CordonOf(node)
	if is == Ours || actx.CheckOnly() && is != Foreign {
		registerCleanup(actx, client, name)
	}
	if is == Ours || is == Foreign {
		return engine.NoChange(engine.Output{"node": name}), nil
	}
	change := engine.Changed(engine.Effect{Kind: engine.EffectObject, Target: targetOf(a.Node), Action: "cordon"})
	change.Output = engine.Output{"node": name}
	return change, nil
}

// Apply cordons the node. The engine uncordons it when its host leaves the run before the
// end, as after kube_drain.
func (a *CordonAction) Apply(ctx context.Context, actx engine.ActionContext, _ engine.Change) (engine.Output, error) {
	client, err := kube.Open(ctx, actx)
	if err != nil {
		return nil, err
	}
	name := nodeOf(a.Node, actx)
	if a.Create {
		return engine.Output{"node": name}, createCordoned(ctx, client, name, actx.RunID(), a.status(name))
	}
	registerCleanup(actx, client, name)
	if _, err := cordon(ctx, client, name, actx.RunID()); err != nil {
		return nil, fmt.Errorf("cordoning node %s: %w", name, err)
	}
	return engine.Output{"node": name}, nil
}

// status returns the status of the Node object that Create makes. A kubelet admits static
// pods by the Node object that it reads, which may be this one; a pod that it finds no room
// for it never tries again. 110 pods are the kubelet's default (maxPods). A node that
// registers itself has its addresses from the start, and kube-router v2.1.0, for one, makes no
// session with a node that it sees without any until its next synchronization, 5 minutes later.
func (a *CordonAction) status(name string) map[string]any {
	resources := map[string]any{
		"cpu":    strconv.Itoa(cmp.Or(a.CPUs, 1)),
		"memory": strconv.FormatInt(cmp.Or(a.Memory, 2<<30), 10),
		"pods":   "110",
	}
	status := map[string]any{"capacity": resources, "allocatable": maps.Clone(resources)}
	if len(a.Addresses) > 0 {
		addresses := []any{map[string]any{"type": "Hostname", "address": name}}
		for _, address := range a.Addresses {
			addresses = append(addresses, map[string]any{"type": "InternalIP", "address": address})
		}
		status["addresses"] = addresses
	}
	return status
}

// createCordoned creates the Node object of a kubelet that registers later. A kubelet
// takes an object that exists as its own (kubernetes pkg/kubelet,
// tryRegisterWithAPIServer).
func createCordoned(ctx context.Context, c *kube.Client, name, run string, status map[string]any) error {
	mark, err := markText(run)
	if err != nil {
		return err
	}
	node := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Node",
		"metadata": map[string]any{"name": name, "annotations": map[string]any{annotation: mark}},
		"spec":     map[string]any{"unschedulable": true},
		"status":   status,
	}}
	if err := c.Create(ctx, node); err != nil {
		return fmt.Errorf("creating node %s: %w", name, err)
	}
	return nil
}
