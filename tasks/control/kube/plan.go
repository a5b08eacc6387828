package kube

import (
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"deployer/engine"
	"deployer/tasks/poll"
)

// Manager is the field manager under which deployer applies objects.
const Manager = "deployer"

// parallel is the maximum number of requests in flight of one plan.
const parallel = 8

// Planned is the planned change of one object.
type Planned struct {
	Object *unstructured.Unstructured
	Live   *unstructured.Unstructured // the object in the cluster; empty when it has none
	Needed bool                       // the object differs from the wanted state
	Delete bool                       // the object is deleted, not applied
	Effect engine.Effect
}

// Plan computes the change of each object by a dry run on the server. An object whose
// namespace or kind the same manifests create, or others that are applied before, counts as a new object. force takes over
// fields of other field managers; without it they are a conflict error. The error joins
// the errors of all objects, and has one for all that the same webhook refuses.
func Plan(ctx context.Context, c *Client, objects []*unstructured.Unstructured, force bool, before ...*unstructured.Unstructured) ([]Planned, error) {
	plan := make([]Planned, len(objects))
	made := providedBy(slices.Concat(before, objects))
	var group errgroup.Group
	group.SetLimit(parallel)
	errs := make([]error, len(objects))
	for i, o := range objects {
		group.Go(func() error {
			plan[i], errs[i] = planOne(ctx, c, o, force, made)
			return nil
		})
	}
	_ = group.Wait()
	return plan, joinErrors(errs)
}

func planOne(ctx context.Context, c *Client, o *unstructured.Unstructured, force bool, made provided) (Planned, error) {
	create := Planned{Object: o, Live: &unstructured.Unstructured{}, Needed: true, Effect: ObjectEffect(Describe(o), "create", "", o)}
	live, err := c.Get(ctx, o.GroupVersionKind(), o.GetNamespace(), o.GetName())
	switch {
	case IsUnknownKind(err) && made.kinds[o.GetKind()]:
		return create, nil
	case apierrors.IsNotFound(err):
		live = nil
		if made.namespaces[o.GetNamespace()] {
			return create, nil
		}
	case err != nil:
		return Planned{}, fmt.Errorf("reading %s: %w", Describe(o), err)
	}
	applied, err := c.Apply(ctx, o, Manager, force, true)
	if err != nil {
		return Planned{}, applyError(o, err)
	}
	effect, needed := difference(o, live, applied)
	planned := Planned{Object: o, Live: &unstructured.Unstructured{}, Needed: needed, Effect: effect}
	if live != nil {
		planned.Live = live
	}
	return planned, nil
}

// Execute carries out the needed changes of a plan in the order of the manifests, and
// stops at the first error. Manifests must list a namespace or a
// CustomResourceDefinition before the objects that need it.
func Execute(ctx context.Context, c *Client, plan []Planned, force bool, progress func(string)) error {
	for _, p := range plan {
		if !p.Needed {
			continue
		}
		progress(p.Effect.Action + " " + p.Effect.Target)
		if p.Delete {
			if err := c.Delete(ctx, p.Object.GroupVersionKind(), p.Object.GetNamespace(), p.Object.GetName(), -1); err != nil {
				return fmt.Errorf("removing %s: %w", Describe(p.Object), err)
			}
			continue
		}
		if err := applyServed(ctx, c, p.Object, force); err != nil {
			return applyError(p.Object, err)
		}
	}
	return nil
}

// servedTimeout is the maximum time from the application of a CustomResourceDefinition until
// the API serves its kind. It takes less than a second on an idle master.
const servedTimeout = 30 * time.Second

// applyServed applies an object. When the API does not serve its kind, applyServed waits until it does:
// the plan has shown that the API knows the kind, or that the same manifests define it.
func applyServed(ctx context.Context, c *Client, o *unstructured.Unstructured, force bool) error {
	_, err := c.Apply(ctx, o, Manager, force, false)
	if !IsUnknownKind(err) {
		return err
	}
	if err := poll.Until(ctx, servedTimeout, 300*time.Millisecond, func(ctx context.Context) (string, bool, error) {
		_, err := c.kinds.find(ctx, o.GroupVersionKind())
		if IsUnknownKind(err) {
			err = poll.Later(err)
		}
		return "", err == nil, err
	}); err != nil {
		return err
	}
	_, err = c.Apply(ctx, o, Manager, force, false)
	return err
}

func applyError(o *unstructured.Unstructured, err error) error {
	if apierrors.IsConflict(err) {
		return fmt.Errorf("applying %s: another program manages some of its fields; set force: true to take them over: %w", Describe(o), err)
	}
	return fmt.Errorf("applying %s: %w", Describe(o), err)
}

// provided are the namespaces and kinds that the manifests themselves create.
type provided struct{ namespaces, kinds map[string]bool }

func providedBy(objects []*unstructured.Unstructured) provided {
	p := provided{map[string]bool{}, map[string]bool{}}
	for _, o := range objects {
		switch o.GetKind() {
		case "Namespace":
			p.namespaces[o.GetName()] = true
		case "CustomResourceDefinition":
			if kind, ok, _ := unstructured.NestedString(o.Object, "spec", "names", "kind"); ok {
				p.kinds[kind] = true
			}
		}
	}
	return p
}
