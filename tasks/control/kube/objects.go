package kube

import (
	"context"
	"encoding/json"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// resource returns the interface to the objects of a kind in a namespace. For a
// namespaced kind the namespace "" means "default".
func (c *Client) resource(ctx context.Context, gvk schema.GroupVersionKind, namespace string) (dynamic.ResourceInterface, error) {
	k, err := c.kinds.find(ctx, gvk)
	if err != nil {
		return nil, err
	}
	if !k.namespaced {
		return c.dynamic.Resource(k.resource), nil
	}
	if namespace == "" {
		namespace = v1.NamespaceDefault
	}
	return c.dynamic.Resource(k.resource).Namespace(namespace), nil
}

// Get returns one object. A missing object is an error for apierrors.IsNotFound.
func (c *Client) Get(ctx context.Context, gvk schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, error) {
	r, err := c.resource(ctx, gvk, namespace)
	if err != nil {
		return nil, err
	}
	var got *unstructured.Unstructured
	err = c.retry(ctx, func(ctx context.Context) (err error) {
		got, err = r.Get(ctx, name, v1.GetOptions{})
		return err
	})
	return got, err
}

// List returns the objects of a kind. The namespace "" means all namespaces.
func (c *Client) List(ctx context.Context, gvk schema.GroupVersionKind, namespace string, opts v1.ListOptions) ([]unstructured.Unstructured, error) {
	k, err := c.kinds.find(ctx, gvk)
	if err != nil {
		return nil, err
	}
	var r dynamic.ResourceInterface = c.dynamic.Resource(k.resource)
	if namespace != "" {
		r = c.dynamic.Resource(k.resource).Namespace(namespace)
	}
	var got *unstructured.UnstructuredList
	err = c.retry(ctx, func(ctx context.Context) (err error) {
		got, err = r.List(ctx, opts)
		return err
	})
	if err != nil {
		return nil, err
	}
	return got.Items, nil
}

// Apply applies one object server-side and returns the result. With dryRun the server
// stores nothing. force takes over fields of other field managers; without it they
// are a conflict error.
func (c *Client) Apply(ctx context.Context, o *unstructured.Unstructured, manager string, force, dryRun bool) (*unstructured.Unstructured, error) {
	r, err := c.resource(ctx, o.GroupVersionKind(), o.GetNamespace())
	if err != nil {
		return nil, err
	}
	opts := v1.ApplyOptions{FieldManager: manager, Force: force}
	if dryRun {
		opts.DryRun = []string{v1.DryRunAll}
	}
	var got *unstructured.Unstructured
	err = c.retry(ctx, func(ctx context.Context) (err error) {
		got, err = r.Apply(ctx, o.GetName(), o, opts)
		return err
	})
	return got, err
}

// Patch sends a JSON merge patch and returns the result. A patch with a
// metadata.resourceVersion fails with a conflict on any other version.
func (c *Client) Patch(ctx context.Context, gvk schema.GroupVersionKind, namespace, name string, patch []byte, manager string) (*unstructured.Unstructured, error) {
	r, err := c.resource(ctx, gvk, namespace)
	if err != nil {
		return nil, err
	}
	var got *unstructured.Unstructured
	err = c.retry(ctx, func(ctx context.Context) (err error) {
		got, err = r.Patch(ctx, name, types.MergePatchType, patch, v1.PatchOptions{FieldManager: manager})
		return err
	})
	return got, err
}

// PatchStatus sends a strategic merge patch of the status of an object: elements of lists with keys, such
// as conditions, are merged.
func (c *Client) PatchStatus(ctx context.Context, gvk schema.GroupVersionKind, namespace, name string, patch map[string]any) error {
	r, err := c.resource(ctx, gvk, namespace)
	if err != nil {
		return err
	}
	text, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	return c.retry(ctx, func(ctx context.Context) error {
		_, err := r.Patch(ctx, name, types.StrategicMergePatchType, text, v1.PatchOptions{FieldManager: Manager}, "status")
		return err
	})
}

// Create creates an object. An object that exists already is no error: an earlier
// attempt of the same request may have created it.
func (c *Client) Create(ctx context.Context, o *unstructured.Unstructured) error {
	r, err := c.resource(ctx, o.GroupVersionKind(), o.GetNamespace())
	if err != nil {
		return err
	}
	return c.retry(ctx, func(ctx context.Context) error {
		_, err := r.Create(ctx, o, v1.CreateOptions{FieldManager: Manager})
		if apierrors.IsAlreadyExists(err) {
			return nil
		}
		return err
	})
}

// Delete deletes an object with background propagation. A missing object is no error.
// grace is the grace period in seconds; negative: the default of the kind.
func (c *Client) Delete(ctx context.Context, gvk schema.GroupVersionKind, namespace, name string, grace int64) error {
	r, err := c.resource(ctx, gvk, namespace)
	if err != nil {
		return err
	}
	policy := v1.DeletePropagationBackground
	opts := v1.DeleteOptions{PropagationPolicy: &policy}
	if grace >= 0 {
		opts.GracePeriodSeconds = &grace
	}
	err = c.retry(ctx, func(ctx context.Context) error {
		return r.Delete(ctx, name, opts)
	})
	return ignoreNotFound(err)
}

// NodeKind is the kind of nodes.
func NodeKind() schema.GroupVersionKind { return kindOf("", "Node") }

// PodKind is the kind of pods.
func PodKind() schema.GroupVersionKind { return kindOf("", "Pod") }

// ServiceKind is the kind of Services.
func ServiceKind() schema.GroupVersionKind { return kindOf("", "Service") }

// NamespaceKind is the kind of namespaces.
func NamespaceKind() schema.GroupVersionKind { return kindOf("", "Namespace") }

// DeploymentKind is the kind of Deployments.
func DeploymentKind() schema.GroupVersionKind { return kindOf("apps", "Deployment") }

// DaemonSetKind is the kind of DaemonSets.
func DaemonSetKind() schema.GroupVersionKind { return kindOf("apps", "DaemonSet") }

// StatefulSetKind is the kind of StatefulSets.
func StatefulSetKind() schema.GroupVersionKind { return kindOf("apps", "StatefulSet") }

// SecretKind is the kind of Secrets.
func SecretKind() schema.GroupVersionKind { return kindOf("", "Secret") }

func kindOf(group, kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: group, Version: "v1", Kind: kind}
}
