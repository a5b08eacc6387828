package kube

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// resource returns how to reach objects of the kind and namespace. Objects
// without a namespace, of a kind that has them, are in "default".
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

// Get reads one object.
func (c *Client) Get(ctx context.Context, gvk schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, error) {
	r, err := c.resource(ctx, gvk, namespace)
	if err != nil {
		return nil, err
	}
	var got *unstructured.Unstructured
	err = c.persist(ctx, func(ctx context.Context) (err error) {
		got, err = r.Get(ctx, name, v1.GetOptions{})
		return err
	})
	return got, err
}

// List reads the objects of a kind; namespace "" means all namespaces.
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
	err = c.persist(ctx, func(ctx context.Context) (err error) {
		got, err = r.List(ctx, opts)
		return err
	})
	if err != nil {
		return nil, err
	}
	return got.Items, nil
}

// Apply applies one object server-side; with dryRun the server only tells what
// would become of it.
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
	err = c.persist(ctx, func(ctx context.Context) (err error) {
		got, err = r.Apply(ctx, o.GetName(), o, opts)
		return err
	})
	return got, err
}

// Patch sends a JSON merge patch. A patch that must not hit another version
// than it was made for names its metadata.resourceVersion.
func (c *Client) Patch(ctx context.Context, gvk schema.GroupVersionKind, namespace, name string, patch []byte, manager string) (*unstructured.Unstructured, error) {
	r, err := c.resource(ctx, gvk, namespace)
	if err != nil {
		return nil, err
	}
	var got *unstructured.Unstructured
	err = c.persist(ctx, func(ctx context.Context) (err error) {
		got, err = r.Patch(ctx, name, types.MergePatchType, patch, v1.PatchOptions{FieldManager: manager})
		return err
	})
	return got, err
}

// Create makes a new object. One that is there already is taken for what an
// earlier try of the same request made.
func (c *Client) Create(ctx context.Context, o *unstructured.Unstructured) error {
	r, err := c.resource(ctx, o.GroupVersionKind(), o.GetNamespace())
	if err != nil {
		return err
	}
	return c.persist(ctx, func(ctx context.Context) error {
		_, err := r.Create(ctx, o, v1.CreateOptions{FieldManager: Manager})
		if apierrors.IsAlreadyExists(err) {
			return nil
		}
		return err
	})
}

// Delete removes an object in the background; one that is gone is no error. grace
// is in seconds; a negative one is the default of the kind.
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
	err = c.persist(ctx, func(ctx context.Context) error {
		return r.Delete(ctx, name, opts)
	})
	return ignoreNotFound(err)
}

// NodeKind and those after it are the kinds that deployer itself looks at.
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

func kindOf(group, kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: group, Version: "v1", Kind: kind}
}
