package calico

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

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
	apply  planned
	remove []*unstructured.Unstructured
}

// Check compares the objects, those of the API by a dry run on the server.
func (r *Routers) Check(ctx context.Context, actx engine.ActionContext) (engine.Change, error) {
	c, place, err := openPlaces(ctx, actx)
	if err != nil {
		return engine.Change{}, err
	}
	found, err := readRouters(ctx, place)
	if err != nil && !(actx.CheckOnly() && isUnavailable(err)) {
		return engine.Change{}, err
	}
	want, err := routersOf(c, found.passwords)
	if err != nil {
		return engine.Change{}, err
	}
	output := engine.Output{"labels": labelsByNode(c.NodeNames, want.labels), "present": labelsByNode(c.NodeNames, found.labels)}
	secret, remove := r.changes(want, found)
	if actx.CheckOnly() && found.absent {
		if len(want.objects) == 0 {
			return engine.NoChange(output), nil
		}
		objects := slices.Clone(want.objects)
		if secret != nil {
			objects = append(objects, secret)
		}
		change := kube.UnknownChange(objects, notInstalled)
		change.Output = output
		return change, nil
	}
	plan := routersPlan{remove: remove}
	if plan.apply, err = place.plan(ctx, want.objects, secret); err != nil {
		return engine.Change{}, err
	}
	change := engine.Change{CheckState: &plan, Output: output}
	plan.apply.addTo(&change)
	for _, o := range remove {
		change.Needed = true
		change.Effects = append(change.Effects, engine.Effect{Kind: engine.EffectObject, Target: kube.Describe(o), Action: "remove", Reason: "no node has this session any more"})
	}
	return change, nil
}

// changes returns the Secret with passwords of a stage, nil without passwords, and the objects to remove.
// These stay as long as a node has their label: it is down, or its change has failed.
func (r *Routers) changes(want, found routers) (secret *unstructured.Unstructured, remove []*unstructured.Unstructured) {
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
		secret = secretOf(passwords)
	}
	if r.Stage == stageBegin {
		return secret, nil
	}
	for _, o := range found.objects {
		if !kept[o.GetName()] {
			remove = append(remove, o)
		}
	}
	return secret, remove
}

// Apply writes the objects.
func (*Routers) Apply(ctx context.Context, actx engine.ActionContext, change engine.Change) (engine.Output, error) {
	_, place, err := openPlaces(ctx, actx)
	if err != nil {
		return nil, err
	}
	plan, ok := change.CheckState.(*routersPlan)
	if !ok {
		return nil, errors.New("calico_routers: Apply needs the change that Check returned")
	}
	for _, o := range plan.remove {
		if err := place.store.Delete(ctx, o.GetKind(), o.GetName()); err != nil {
			return nil, fmt.Errorf("removing %s: %w", kube.Describe(o), err)
		}
	}
	if err := place.execute(ctx, plan.apply, actx.Progress); err != nil {
		return nil, err
	}
	return change.Output, nil
}

// readRouters returns the objects of routers that the cluster has.
func readRouters(ctx context.Context, place places) (routers, error) {
	out := routers{passwords: map[string]string{}, labels: map[string]map[string]string{}}
	config, err := place.store.Get(ctx, "BGPConfiguration", "default")
	if err != nil || config == nil {
		out.absent = true
		return out, err
	}
	for _, kind := range []string{"BGPPeer", "BGPFilter"} { // a peer needs its filter as long as it exists
		all, err := managed(ctx, place.store, kind)
		if err != nil {
			return routers{absent: true}, err
		}
		for _, o := range all {
			if strings.HasPrefix(o.GetName(), routerObjects) {
				out.objects = append(out.objects, &o)
			}
		}
	}
	if out.passwords, err = readPasswords(ctx, place.client); err != nil {
		return routers{absent: true}, err
	}
	nodes, err := place.store.Nodes(ctx)
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
