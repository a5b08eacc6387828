package calico

import (
	"context"
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"deployer/cluster"
	"deployer/engine"
	"deployer/tasks/control/actionctx"
	"deployer/tasks/control/calico/datastore"
	"deployer/tasks/control/kube"
)

// patience says whether requests wait for an API that does not answer.
type patience bool

const (
	// patient requests always wait: the cluster has an API, so a dry run without its answer would be wrong.
	patient patience = true
	// patientInRuns requests do not wait in a dry run: a new cluster has no API yet.
	patientInRuns patience = false
)

// open returns the cluster of the inventory and a client of its API.
func open(ctx context.Context, actx engine.ActionContext, waits patience) (*cluster.Cluster, *kube.Client, error) {
	c, err := actionctx.Cluster(actx)
	if err != nil {
		return nil, nil, err
	}
	client, err := kube.Open(ctx, actx)
	if err != nil {
		return nil, nil, err
	}
	if actx.CheckOnly() && waits == patientInRuns {
		client = client.WithRetryTimeout(-1)
	}
	return c, client, nil
}

// places are the two places of the objects of sessions: Calico's datastore, and the Kubernetes API, where
// calico-node reads passwords with either datastore (confd/pkg/backends/calico/secret_watcher.go).
type places struct {
	store  datastore.Store
	client *kube.Client
}

// openPlaces returns the cluster of the inventory and its places of objects. In a dry run neither waits.
func openPlaces(ctx context.Context, actx engine.ActionContext) (*cluster.Cluster, places, error) {
	c, store, err := datastore.Open(ctx, actx)
	if err != nil {
		return nil, places{}, err
	}
	_, client, err := open(ctx, actx, patientInRuns)
	return c, places{store, client}, err
}

// isUnavailable reports whether the datastore or the API does not answer now.
func isUnavailable(err error) bool {
	return err != nil && (errors.Is(err, datastore.ErrUnavailable) || kube.IsTransient(err))
}

// planned are objects in their places, compared with the wanted ones.
type planned struct {
	objects []kube.Planned // in the datastore
	secret  []kube.Planned // the Secret with passwords; empty without passwords
}

// plan compares objects, and the Secret with passwords where there are any.
func (p places) plan(ctx context.Context, objects []*unstructured.Unstructured, secret *unstructured.Unstructured) (out planned, err error) {
	if out.objects, err = p.store.Plan(ctx, objects); err != nil || secret == nil {
		return out, err
	}
	out.secret, err = kube.Plan(ctx, p.client, []*unstructured.Unstructured{secret}, true)
	return out, err
}

// addTo adds the effects of the plan to a change.
func (p planned) addTo(change *engine.Change) {
	for _, one := range slices.Concat(p.objects, p.secret) {
		if one.Needed {
			change.Needed = true
			change.Effects = append(change.Effects, one.Effect)
		}
	}
}

// execute carries out the plan, passwords before the objects that name them.
func (p places) execute(ctx context.Context, plan planned, progress func(string)) error {
	if err := kube.Execute(ctx, p.client, plan.secret, true, progress); err != nil {
		return err
	}
	return p.store.Execute(ctx, plan.objects, progress)
}
