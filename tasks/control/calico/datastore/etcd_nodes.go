package datastore

import (
	"context"
	"errors"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"deployer/tasks/control/etcd"
	"deployer/tasks/control/kube"
)

// nodeKind is the kind of Calico's own objects of nodes, which only etcd has.
const nodeKind = "Node"

// bgpFields are the fields of spec.bgp of a node in etcd that are annotations in the Kubernetes API
// (libcalico-go lib/apis/v3/node.go).
var bgpFields = map[string]string{ClusterID: "routeReflectorClusterID", Address: "ipv4Address", AddressIPv6: "ipv6Address"}

// Nodes leaves out nodes that Kubernetes does not have: when a node has left the cluster, Calico's
// controllers remove it from etcd some time later.
func (s inEtcd) Nodes(ctx context.Context) ([]Node, error) {
	objects, err := s.List(ctx, nodeKind)
	if err != nil {
		return nil, err
	}
	var members map[string]bool
	if s.client != nil {
		members = map[string]bool{}
		nodes, err := kube.ListAs[corev1.Node](ctx, s.client, kube.NodeKind(), "", v1.ListOptions{})
		if err != nil {
			return nil, passing(err)
		}
		for _, n := range nodes {
			members[n.Name] = true
		}
	}
	var out []Node
	for _, o := range objects {
		if members == nil || members[o.GetName()] {
			out = append(out, nodeOf(&o))
		}
	}
	return out, nil
}

func (s inEtcd) Node(ctx context.Context, name string) (*Node, error) {
	o, err := s.Get(ctx, nodeKind, name)
	if err != nil || o == nil {
		return nil, err
	}
	n := nodeOf(o)
	return &n, nil
}

// nodeOf returns a node of etcd in the form of the Kubernetes API.
func nodeOf(o *unstructured.Unstructured) Node {
	n := Node{o.GetName(), o.GetLabels(), map[string]string{}}
	for annotation, field := range bgpFields {
		if value, _, _ := unstructured.NestedString(o.Object, "spec", "bgp", field); value != "" {
			n.Annotations[annotation] = value
		}
	}
	return n
}

// patchAttempts is the number of attempts to change a node that Calico's controllers or calico-node of the
// node change at the same time, when labels change and at its start.
const patchAttempts = 10

func (s inEtcd) PatchNode(ctx context.Context, name string, patch map[string]any) error {
	var err error
	for range patchAttempts {
		if err = s.patchNode(ctx, name, patch); !errors.Is(err, etcd.ErrConflict) {
			return err
		}
	}
	return err
}

func (s inEtcd) patchNode(ctx context.Context, name string, patch map[string]any) error {
	o, err := s.Get(ctx, nodeKind, name)
	if err != nil {
		return err
	}
	if o == nil {
		return fmt.Errorf("Calico has no node %s: calico-node has not started there yet", name) //nolint:staticcheck // a name
	}
	next := o.DeepCopy()
	if err := applyPatch(next, patch); err != nil {
		return fmt.Errorf("node %s: %w", name, err)
	}
	return s.Execute(ctx, []kube.Planned{{Object: next, Live: o, Needed: true}}, func(string) {})
}

// applyPatch applies a JSON merge patch of labels and annotations to a node of etcd.
func applyPatch(o *unstructured.Unstructured, patch map[string]any) error {
	labels := maps.Clone(o.GetLabels())
	if labels == nil {
		labels = map[string]string{}
	}
	changes, _, err := unstructured.NestedMap(patch, "metadata", "labels")
	if err != nil {
		return err
	}
	for key, value := range changes {
		if text, ok := value.(string); ok {
			labels[key] = text
		} else {
			delete(labels, key)
		}
	}
	o.SetLabels(labels)
	if changes, _, err = unstructured.NestedMap(patch, "metadata", "annotations"); err != nil {
		return err
	}
	for key, value := range changes {
		field, known := bgpFields[key]
		switch text, ok := value.(string); {
		case !known:
			return fmt.Errorf("etcd has no field for the annotation %s", key)
		case ok:
			err = unstructured.SetNestedField(o.Object, text, "spec", "bgp", field)
		default:
			unstructured.RemoveNestedField(o.Object, "spec", "bgp", field)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
