package datastore

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"deployer/tasks/control/kube"
)

// kubernetes has the objects in the Kubernetes API.
type kubernetes struct{ client *kube.Client }

func kindOf(kind string) schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(APIVersion, kind)
}

func (k kubernetes) Get(ctx context.Context, kind, name string) (*unstructured.Unstructured, error) {
	found, err := k.client.Get(ctx, kindOf(kind), "", name)
	if apierrors.IsNotFound(err) || kube.IsUnknownKind(err) {
		return nil, nil
	}
	return found, passing(err)
}

func (k kubernetes) List(ctx context.Context, kind string) ([]unstructured.Unstructured, error) {
	found, err := k.client.List(ctx, kindOf(kind), "", v1.ListOptions{})
	if kube.IsUnknownKind(err) {
		return nil, nil
	}
	return found, passing(err)
}

func (k kubernetes) Plan(ctx context.Context, objects []*unstructured.Unstructured) ([]kube.Planned, error) {
	plan, err := kube.Plan(ctx, k.client, objects, true)
	return plan, passing(err)
}

func (k kubernetes) Execute(ctx context.Context, plan []kube.Planned, progress func(string)) error {
	return kube.Execute(ctx, k.client, plan, true, progress)
}

func (k kubernetes) Delete(ctx context.Context, kind, name string) error {
	return k.client.Delete(ctx, kindOf(kind), "", name, -1)
}

func (k kubernetes) Nodes(ctx context.Context) ([]Node, error) {
	var out []Node
	nodes, err := kube.ListAs[corev1.Node](ctx, k.client, kube.NodeKind(), "", v1.ListOptions{})
	for _, n := range nodes {
		out = append(out, Node{n.Name, n.Labels, n.Annotations})
	}
	return out, passing(err)
}

func (k kubernetes) Node(ctx context.Context, name string) (*Node, error) {
	n, err := k.client.Get(ctx, kube.NodeKind(), "", name)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, passing(err)
	}
	return &Node{n.GetName(), n.GetLabels(), n.GetAnnotations()}, nil
}

func (k kubernetes) PatchNode(ctx context.Context, name string, patch map[string]any) error {
	text, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	_, err = k.client.Patch(ctx, kube.NodeKind(), "", name, text, kube.Manager)
	return err
}

func resource(name string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "crd.projectcalico.org", Version: "v1", Resource: name}
}

func (k kubernetes) Pools(ctx context.Context, visit func(Pool)) error {
	return kube.EachOf(ctx, k.client, resource("ippools"), func(o *struct {
		Metadata struct{ Name string }
		Spec     Pool
	}) {
		o.Spec.Name = o.Metadata.Name
		visit(o.Spec)
	})
}

func (k kubernetes) Blocks(ctx context.Context, visit func(Block)) error {
	return kube.EachOf(ctx, k.client, resource("ipamblocks"), func(o *struct{ Spec Block }) { visit(o.Spec) })
}

func (k kubernetes) Affinities(ctx context.Context, visit func(Affinity)) error {
	return kube.EachOf(ctx, k.client, resource("blockaffinities"), func(o *struct {
		Spec struct{ CIDR, Node, State, Deleted string }
	}) {
		visit(Affinity{o.Spec.CIDR, o.Spec.Node, o.Spec.State, o.Spec.Deleted == "true"})
	})
}

// passing marks errors of an API that does not answer now.
func passing(err error) error {
	if err != nil && kube.IsTransient(err) {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return err
}
