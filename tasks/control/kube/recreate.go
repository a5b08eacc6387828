package kube

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"deployer/engine"
	"deployer/tasks/control/actionctx"
)

// Recreate is the action `kube_recreate`: it deletes pods of a Deployment that must start again,
// so that its controller makes others.
type Recreate struct {
	Deployment string `yaml:"deployment" rule:"object" doc:"Deployment of the pods, as namespace/name." required:"true"`
	Found      string `yaml:"found" rule:"variable" doc:"Name under which hosts registered the names of their pods, in the field outdated_pods. A host can name pods of its own only." required:"true"`
	Why        string `yaml:"why" rule:"line" doc:"Reason, as in: it started before the change." required:"true"`
}

// completeTimeout is the maximum wait for the Deployment before a pod that is ready is deleted.
const completeTimeout = 2 * time.Minute

// recreated are the pods to delete, by whether they are ready.
type recreated struct{ idle, serving []string }

// Check returns an effect for each pod.
func (r *Recreate) Check(ctx context.Context, actx engine.ActionContext) (engine.Change, error) {
	named := r.named(actx)
	if len(named) == 0 {
		return engine.NoChange(nil), nil
	}
	workload, err := r.workload()
	if err != nil {
		return engine.Change{}, err
	}
	client, err := Open(ctx, actx)
	if err != nil {
		return engine.Change{}, err
	}
	pods, err := selected(ctx, client, workload, named)
	if err != nil {
		return engine.Change{}, err
	}
	change := engine.Change{CheckState: pods}
	for _, name := range slices.Sorted(slices.Values(slices.Concat(pods.idle, pods.serving))) {
		change.Effects = append(change.Effects, engine.Effect{
			Kind: engine.EffectObject, Target: "Pod " + workload.Namespace + "/" + name, Action: "recreate", Reason: r.Why,
		})
	}
	change.Needed = len(change.Effects) > 0
	return change, nil
}

// Apply deletes the pods that are not ready at once, because they serve nobody, and the others
// one after the other, each when the Deployment is complete.
func (r *Recreate) Apply(ctx context.Context, actx engine.ActionContext, change engine.Change) (engine.Output, error) {
	workload, err := r.workload()
	if err != nil {
		return nil, err
	}
	client, err := Open(ctx, actx)
	if err != nil {
		return nil, err
	}
	pods, ok := change.CheckState.(recreated)
	if !ok {
		return nil, fmt.Errorf("kube_recreate: Apply needs the change that Check returned")
	}
	remove := func(name string) error {
		if err := client.Delete(ctx, PodKind(), workload.Namespace, name, -1); err != nil {
			return fmt.Errorf("deleting pod %s/%s: %w", workload.Namespace, name, err)
		}
		return nil
	}
	for _, name := range pods.idle {
		if err := remove(name); err != nil {
			return nil, err
		}
	}
	for _, name := range pods.serving {
		if err := WaitRollouts(ctx, client, []Workload{workload}, 1, completeTimeout, actx.Progress); err != nil {
			return nil, err
		}
		if err := remove(name); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

func (r *Recreate) workload() (Workload, error) {
	list, err := (&RolledOut{Deployments: []string{r.Deployment}}).workloads()
	if err != nil {
		return Workload{}, err
	}
	return list[0], nil
}

// named returns the pods that each host has registered.
func (r *Recreate) named(actx engine.ActionContext) map[string][]any {
	out := map[string][]any{}
	for _, host := range actx.Targets() {
		if list, _ := actionctx.Registered(actx, host, r.Found)["outdated_pods"].([]any); len(list) > 0 {
			out[host] = list
		}
	}
	return out
}

// selected returns the pods of a Deployment that the host on which they run has named. Hosts are not
// trusted: none decides about the pods of other workloads or nodes.
func selected(ctx context.Context, c *Client, w Workload, named map[string][]any) (recreated, error) {
	var out recreated
	o, err := c.Get(ctx, w.Kind, w.Namespace, w.Name)
	if err != nil {
		return out, fmt.Errorf("reading %s: %w", w, err)
	}
	labels, _, _ := unstructured.NestedStringMap(o.Object, "spec", "selector", "matchLabels")
	pods, err := c.List(ctx, PodKind(), w.Namespace, v1.ListOptions{LabelSelector: selector(labels)})
	if err != nil {
		return out, fmt.Errorf("listing the pods of %s: %w", w, err)
	}
	for i := range pods {
		node, _, _ := unstructured.NestedString(pods[i].Object, "spec", "nodeName")
		switch name := pods[i].GetName(); {
		case pods[i].GetDeletionTimestamp() != nil || !slices.Contains(named[node], any(name)):
		case isReady(&pods[i]):
			out.serving = append(out.serving, name)
		default:
			out.idle = append(out.idle, name)
		}
	}
	return out, nil
}

// isReady reports whether the condition Ready of a pod is true.
func isReady(o *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	return slices.ContainsFunc(conditions, func(item any) bool {
		c, _ := item.(map[string]any)
		return c["type"] == "Ready" && c["status"] == "True"
	})
}
