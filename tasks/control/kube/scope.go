package kube

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Scope is where the objects of a kind are.
type Scope int

// The scopes of kinds.
const (
	ScopeUnknown Scope = iota // the API must be asked
	ScopeCluster
	ScopeNamespace
)

// ScopeOf returns the scope of a kind that is built in or that one of the objects defines.
func ScopeOf(gvk schema.GroupVersionKind, objects []*unstructured.Unstructured) Scope {
	for _, row := range builtinKinds() {
		if row.group == gvk.Group && row.kind == gvk.Kind {
			return scopeOf(row.namespaced)
		}
	}
	for _, o := range objects {
		group, _, _ := unstructured.NestedString(o.Object, "spec", "group")
		kind, _, _ := unstructured.NestedString(o.Object, "spec", "names", "kind")
		if o.GetKind() == "CustomResourceDefinition" && group == gvk.Group && kind == gvk.Kind {
			scope, _, _ := unstructured.NestedString(o.Object, "spec", "scope")
			return scopeOf(scope == "Namespaced")
		}
	}
	return ScopeUnknown
}

func scopeOf(namespaced bool) Scope {
	if namespaced {
		return ScopeNamespace
	}
	return ScopeCluster
}

// SetNamespace sets the namespace of objects that have none and whose kind has namespaces, and
// removes it from objects of kinds that have none, as kubectl does. before are objects that are applied before
// these and may define their kinds.
func (c *Client) SetNamespace(ctx context.Context, objects []*unstructured.Unstructured, namespace string, before ...*unstructured.Unstructured) error {
	definitions := slices.Concat(before, objects)
	for _, o := range objects {
		scope := ScopeOf(o.GroupVersionKind(), definitions)
		if scope == ScopeUnknown {
			k, err := c.kinds.find(ctx, o.GroupVersionKind())
			if err != nil {
				return fmt.Errorf("%s: %w", Describe(o), err)
			}
			scope = scopeOf(k.namespaced)
		}
		switch {
		case scope == ScopeCluster:
			o.SetNamespace("")
		case o.GetNamespace() == "":
			o.SetNamespace(namespace)
		}
	}
	return nil
}

// IsUnknownKind reports whether an error means that the API does not serve a kind, or not yet.
func IsUnknownKind(err error) bool {
	var unknown *unknownKindError
	return errors.As(err, &unknown)
}
