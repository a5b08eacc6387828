package calico

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"deployer/engine"
	"deployer/tasks/control/kube"
)

// Routers is the action `calico_routers`: it writes the BGPPeers, BGPFilters and passwords of the
// routers of the inventory. A node has a session when it has the label of the BGPPeer's version.
//
// The output has `labels`, the labels that each node must have, and `present`, those that it has.
type Routers struct {
	Stage string `yaml:"stage" rule:"in:begin,end" required:"true" doc:"Stage of the change: begin, the objects of the inventory are there beside the former ones; end, the former ones are removed."`
}

// routersPlan is the result of Check.
type routersPlan struct {
	apply  []kube.Planned
	remove []*unstructured.Unstructured
}

// Check compares the objects by a dry run on the server.
func (r *Routers) Check(ctx context.Context, actx engine.ActionContext) (engine.Change, error) {
	c, client, err := open(ctx, actx, patientInRuns)
	if err != nil {
		return engine.Change{}, err
	}
	found, err := readRouters(ctx, client)
	if err != nil && !(actx.CheckOnly() && kube.IsTransient(err)) {
		return engine.Change{}, err
	}
	want, err := routersOf(c, found.passwords)
	if err != nil {
		return engine.Change{}, err
	}
	output := engine.Output{"labels": labelsByNode(c.NodeNames, want.labels), "present": labelsByNode(c.NodeNames, found.labels)}
	objects, remove := r.changes(want, found)
	if actx.CheckOnly() && found.absent {
		if len(objects) == 0 {
			return engine.NoChange(output), nil
		}
		change := kube.UnknownChange(objects, "Calico is not installed yet")
		change.Output = output
		return change, nil
	}
	plan := routersPlan{remove: remove}
	if plan.apply, err = kube.Plan(ctx, client, objects, true); err != nil {
		return engine.Change{}, err
	}
	change := engine.Change{CheckState: &plan, Output: output}
	for _, p := range plan.apply {
		if p.Needed {
			change.Needed = true
			change.Effects = append(change.Effects, p.Effect)
		}
	}
	for _, o := range remove {
		change.Needed = true
		change.Effects = append(change.Effects, engine.Effect{Kind: engine.EffectObject, Target: kube.Describe(o), Action: "remove", Reason: "no node has this session any more"})
	}
	return change, nil
}

// changes returns the objects to apply in a stage, and those to remove. Objects stay as long as a node
// has their label: it is down, or its change has failed.
func (r *Routers) changes(want, found routers) (apply, remove []*unstructured.Unstructured) {
	kept := map[string]bool{}
	for _, o := range want.objects {
		kept[o.GetName()] = true
	}
	inUse := false
	for _, labels := range found.labels {
		for key, version := range labels {
			name := routerObjects + strings.TrimPrefix(key, routerPrefix) + "-" + version
			inUse = inUse || !kept[name]
			kept[name] = true
		}
	}
	passwords := maps.Clone(want.passwords)
	for key, password := range found.passwords {
		if r.Stage == stageBegin || inUse || strings.HasPrefix(key, nodePasswords) { // those are of calico_mesh
			passwords[key] = password
		}
	}
	if len(passwords)+len(found.passwords) > 0 {
		apply = append(apply, secretOf(passwords))
	}
	apply = append(apply, want.objects...)
	if r.Stage == stageBegin {
		return apply, nil
	}
	for _, o := range found.objects {
		if !kept[o.GetName()] {
			remove = append(remove, o)
		}
	}
	return apply, remove
}

// Apply writes the objects.
func (*Routers) Apply(ctx context.Context, actx engine.ActionContext, change engine.Change) (engine.Output, error) {
	client, err := kube.Open(ctx, actx)
	if err != nil {
		return nil, err
	}
	plan, ok := change.CheckState.(*routersPlan)
	if !ok {
		return nil, errors.New("calico_routers: Apply needs the change that Check returned")
	}
	for _, o := range plan.remove {
		if err := client.Delete(ctx, o.GroupVersionKind(), "", o.GetName(), -1); err != nil {
			return nil, fmt.Errorf("removing %s: %w", kube.Describe(o), err)
		}
	}
	if err := kube.Execute(ctx, client, plan.apply, true, actx.Progress); err != nil {
		return nil, err
	}
	return change.Output, nil
}

// readRouters returns the objects of routers that the API has.
func readRouters(ctx context.Context, client *kube.Client) (routers, error) {
	out := routers{passwords: map[string]string{}, labels: map[string]map[string]string{}}
	for _, kind := range []string{"BGPPeer", "BGPFilter"} { // a peer needs its filter as long as it exists
		all, err := client.List(ctx, kindOf(kind), "", v1.ListOptions{LabelSelector: managedLabel + "=" + kube.Manager})
		if kube.IsUnknownKind(err) {
			out.absent = true
			return out, nil
		}
		if err != nil {
			return routers{absent: true}, fmt.Errorf("listing the %ss: %w", kind, err)
		}
		for _, o := range all {
			if strings.HasPrefix(o.GetName(), routerObjects) {
				out.objects = append(out.objects, &o)
			}
		}
	}
	var err error
	if out.passwords, err = readPasswords(ctx, client); err != nil {
		return routers{absent: true}, err
	}
	nodes, err := kube.ListAs[corev1.Node](ctx, client, kube.NodeKind(), "", v1.ListOptions{})
	if err != nil {
		return routers{absent: true}, fmt.Errorf("listing nodes: %w", err)
	}
	for _, node := range nodes {
		out.labels[node.Name] = routerLabels(node.Labels)
	}
	return out, nil
}

// routerLabels returns the labels by which a node has sessions with routers.
func routerLabels(labels map[string]string) map[string]string {
	out := map[string]string{}
	for key, value := range labels {
		if strings.HasPrefix(key, routerPrefix) {
			out[key] = value
		}
	}
	return out
}

func labelsByNode(nodes []string, labels map[string]map[string]string) map[string]any {
	out := map[string]any{}
	for _, node := range nodes {
		one := map[string]any{}
		for key, value := range labels[node] {
			one[key] = value
		}
		out[node] = one
	}
	return out
}
