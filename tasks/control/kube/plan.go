package kube

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"deployer/engine"
)

// Manager is the field manager under which deployer applies objects.
const Manager = "deployer"

// parallel is the maximum number of requests in flight of one plan.
const parallel = 8

// Planned is the planned change of one object.
type Planned struct {
	Object *unstructured.Unstructured
	Needed bool // the object differs from the wanted state
	Delete bool // the object is deleted, not applied
	Effect engine.Effect
}

// Plan computes the change of each object by a dry run on the server. An object whose
// namespace or kind the same manifests create counts as a new object. force takes over
// fields of other field managers; without it they are a conflict error. The error joins
// the errors of all objects.
func Plan(ctx context.Context, c *Client, objects []*unstructured.Unstructured, force bool) ([]Planned, error) {
	plan := make([]Planned, len(objects))
	made := providedBy(objects)
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
	return plan, errors.Join(errs...)
}

func planOne(ctx context.Context, c *Client, o *unstructured.Unstructured, force bool, made provided) (Planned, error) {
	create := Planned{Object: o, Needed: true, Effect: objectEffect(describe(o), "create", "", o)}
	live, err := c.Get(ctx, o.GroupVersionKind(), o.GetNamespace(), o.GetName())
	var unknown *unknownKindError
	switch {
	case errors.As(err, &unknown) && made.kinds[o.GetKind()]:
		return create, nil
	case apierrors.IsNotFound(err):
		live = nil
		if made.namespaces[o.GetNamespace()] {
			return create, nil
		}
	case err != nil:
		return Planned{}, fmt.Errorf("reading %s: %w", describe(o), err)
	}
	applied, err := c.Apply(ctx, o, Manager, force, true)
	if err != nil {
		return Planned{}, applyError(o, err)
	}
	effect, needed := difference(live, applied)
	return Planned{Object: o, Needed: needed, Effect: effect}, nil
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
				return fmt.Errorf("removing %s: %w", describe(p.Object), err)
			}
			continue
		}
		if _, err := c.Apply(ctx, p.Object, Manager, force, false); err != nil {
			return applyError(p.Object, err)
		}
	}
	return nil
}

func applyError(o *unstructured.Unstructured, err error) error {
	if apierrors.IsConflict(err) {
		return fmt.Errorf("applying %s: another program manages some of its fields; set force: true to take them over: %w", describe(o), err)
	}
	return fmt.Errorf("applying %s: %w", describe(o), err)
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
