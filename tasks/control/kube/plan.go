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

// parallel bounds the requests in flight of one apply.
const parallel = 8

// Planned is an object and what applying it, or removing it, would do.
type Planned struct {
	Object *unstructured.Unstructured
	Needed bool
	Delete bool // the object is removed, not applied
	Effect engine.Effect
}

// Plan asks the server, by a dry run for each object, what applying them would
// change. An object whose namespace or kind is made by the same manifests, and
// not there yet, counts as one to create. Force takes fields over from other
// field managers; without it they are conflicts and an error.
func Plan(ctx context.Context, c *Client, objects []*unstructured.Unstructured, force bool) ([]Planned, error) {
	plan := make([]Planned, len(objects))
	made := makes(objects)
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
		return Planned{}, refused(o, err)
	}
	effect, needed := difference(live, applied)
	return Planned{Object: o, Needed: needed, Effect: effect}, nil
}

// Execute applies what the plan says is needed, in order: namespaces and
// definitions of kinds come before what is in them if the manifests say so.
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
			return refused(p.Object, err)
		}
	}
	return nil
}

func refused(o *unstructured.Unstructured, err error) error {
	if apierrors.IsConflict(err) {
		return fmt.Errorf("applying %s: another program manages fields of it; set force: true to take them over: %w", describe(o), err)
	}
	return fmt.Errorf("applying %s: %w", describe(o), err)
}

// provided are the namespaces and kinds that manifests themselves make.
type provided struct{ namespaces, kinds map[string]bool }

func makes(objects []*unstructured.Unstructured) provided {
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
