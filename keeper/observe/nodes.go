// Package observe reads what the keeper decides on: nodes and pods from the Kubernetes API, members
// from etcd, and whether hosts answer.
package observe

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	v1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"deployer/keeper/noderenewal"
	"deployer/keeper/world"
	"deployer/tasks/control/drain"
	"deployer/tasks/control/kube"
)

// MaintenanceAnnotation is the annotation of a node with the mark of maintenance, a
// [world.Maintenance] as JSON.
const MaintenanceAnnotation = "deployer/maintenance"

// PostAddAnnotation is the annotation of a node for which the hooks of cluster.keeper.post_add have run: the UID of
// the Node, so that a copy of its annotations does not count.
const PostAddAnnotation = "deployer/post-add"

// OutOfServiceByKeeper is the value of taint node.kubernetes.io/out-of-service that keepers set; Kubernetes looks at
// the key only. A person's taint has another value, and stays.
const OutOfServiceByKeeper = "deployer-keeper"

// MaintenanceLabel is the label of nodes with a mark of maintenance, by which they are listed.
const MaintenanceLabel = MaintenanceAnnotation

// nodesPage is the number of nodes of one page: a Node has about 10 kB, most of it the list of images.
const nodesPage = 100

// node is the part of a Node that the keeper reads.
type node struct {
	Metadata struct {
		Name              string
		UID               string
		ResourceVersion   string
		CreationTimestamp time.Time
		Annotations       map[string]string
	}
	Spec struct {
		Taints []struct{ Key, Value string }
	}
	Status struct {
		Conditions []condition
		Addresses  []struct{ Type, Address string }
	}
}

// Version implements kube.Versioned.
func (n node) Version() string { return n.Metadata.ResourceVersion }

type condition struct {
	Type               string
	Status             world.Readiness
	LastTransitionTime time.Time
}

// nodes is the resource of nodes.
func nodes() schema.GroupVersionResource {
	return schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
}

// Nodes returns the nodes.
func Nodes(ctx context.Context, c *kube.Client) ([]world.Node, error) {
	var out []world.Node
	seen := map[string]int{}
	err := kube.EachOfPages(ctx, c, nodes(), nodesPage, func(n *node) {
		read := readNode(n)
		if i, again := seen[read.Name]; again {
			out[i] = read
			return
		}
		seen[read.Name] = len(out)
		out = append(out, read)
	})
	return out, err
}

// Node returns a node as it is now; none when the cluster has no node with this name.
func Node(ctx context.Context, c *kube.Client, name string) (n world.Node, found bool, err error) {
	object, err := c.Get(ctx, kube.NodeKind(), "", name)
	switch {
	case apierrors.IsNotFound(err):
		return n, false, nil
	case err != nil:
		return n, false, fmt.Errorf("reading node %s: %w", name, err)
	}
	n, err = decodeNode(object)
	return n, err == nil, err
}

// Marked returns the nodes that have a mark of maintenance, also one that has ended.
func Marked(ctx context.Context, c *kube.Client) ([]world.Node, error) {
	objects, err := c.List(ctx, kube.NodeKind(), "", v1.ListOptions{LabelSelector: MaintenanceLabel})
	if err != nil {
		return nil, fmt.Errorf("listing nodes in maintenance: %w", err)
	}
	var out []world.Node
	for i := range objects {
		n, err := decodeNode(&objects[i])
		if err != nil {
			return nil, err
		}
		out = append(out, n)
	}
	return out, nil
}

func decodeNode(object *unstructured.Unstructured) (world.Node, error) {
	text, err := object.MarshalJSON()
	if err != nil {
		return world.Node{}, err
	}
	var read node
	if err := json.Unmarshal(text, &read); err != nil {
		return world.Node{}, fmt.Errorf("reading node %s: %w", object.GetName(), err)
	}
	return readNode(&read), nil
}

func readNode(n *node) world.Node {
	out := world.Node{
		Name: n.Metadata.Name, UID: n.Metadata.UID, Created: n.Metadata.CreationTimestamp, Ready: world.Unknown,
		Maintenance: maintenanceOf(n.Metadata.Annotations[MaintenanceAnnotation]), PostAdded: n.Metadata.Annotations[PostAddAnnotation] == n.Metadata.UID,
		Reboots: n.Metadata.Annotations[drain.RebootAnnotation] != "", Others: othersOf(n.Metadata.Annotations[noderenewal.Annotation]),
	}
	for _, c := range n.Status.Conditions {
		if c.Type == "Ready" {
			out.Ready, out.Since = c.Status, c.LastTransitionTime
		}
	}
	for _, t := range n.Spec.Taints {
		if t.Key == corev1.TaintNodeOutOfService {
			out.OutOfService = &world.OutOfService{ByKeeper: t.Value == OutOfServiceByKeeper}
		}
	}
	for _, a := range n.Status.Addresses {
		if a.Type == "InternalIP" && out.Address == "" {
			out.Address = a.Address
		}
	}
	return out
}

// maintenanceOf returns the mark in an annotation; one that is no mark counts as none.
func maintenanceOf(text string) *world.Maintenance {
	var mark world.Maintenance
	if text == "" || json.Unmarshal([]byte(text), &mark) != nil {
		return nil
	}
	return &mark
}
