// Package datastore reads and writes Calico's objects where Calico has them: in the Kubernetes API, or in
// an etcd cluster of its own. Objects have the form of the API: kind, name and spec, of the group
// crd.projectcalico.org, and nodes with annotations. The actions of Calico use a [Store] and do not know
// which one it is.
package datastore

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"deployer/cluster"
	"deployer/engine"
	"deployer/tasks/control/actionctx"
	"deployer/tasks/control/kube"
)

// APIVersion is the version of Calico's kinds in the Kubernetes API.
const APIVersion = "crd.projectcalico.org/v1"

// ErrUnavailable reports that the datastore does not answer now, as that of a cluster that is not
// installed yet.
var ErrUnavailable = errors.New("Calico's datastore does not answer") //nolint:staticcheck // a name

// Store has Calico's objects. Its errors wrap [ErrUnavailable] when a later attempt may succeed.
type Store interface {
	// Get returns an object; nil when there is none, and when Calico is not installed.
	Get(ctx context.Context, kind, name string) (*unstructured.Unstructured, error)
	// List returns the objects of a kind; none when Calico is not installed.
	List(ctx context.Context, kind string) ([]unstructured.Unstructured, error)
	// Plan compares objects with the wanted ones. A field that somebody else has set, and that the
	// wanted object does not have, stays.
	Plan(ctx context.Context, objects []*unstructured.Unstructured) ([]kube.Planned, error)
	// Execute makes the changes of Plan in their order.
	Execute(ctx context.Context, plan []kube.Planned, progress func(string)) error
	// Pools calls visit for the pools, Blocks for the blocks of addresses, and Affinities for the nodes that
	// take addresses of a block. An object may be visited twice. They fail when Calico is not installed.
	Pools(ctx context.Context, visit func(Pool)) error
	Blocks(ctx context.Context, visit func(Block)) error
	Affinities(ctx context.Context, visit func(Affinity)) error
	// Delete removes an object; one that does not exist is no error.
	Delete(ctx context.Context, kind, name string) error
	// Nodes returns the nodes of the cluster that Calico knows.
	Nodes(ctx context.Context) ([]Node, error)
	// Node returns a node; nil when Calico does not know it.
	Node(ctx context.Context, name string) (*Node, error)
	// PatchNode changes labels and annotations of a node by a JSON merge patch, in one step.
	PatchNode(ctx context.Context, name string, patch map[string]any) error
}

// Node is a node of the cluster with its place in the BGP sessions.
type Node struct {
	Name                string
	Labels, Annotations map[string]string
}

// Annotations of nodes, which Calico has in the Kubernetes API instead of objects
// (libcalico-go lib/backend/k8s/resources/node.go).
const (
	AnnotationPrefix = "projectcalico.org/" // of all annotations that Calico writes to nodes
	ClusterID        = AnnotationPrefix + "RouteReflectorClusterID"
	Address          = AnnotationPrefix + "IPv4Address"
	AddressIPv6      = AnnotationPrefix + "IPv6Address"
)

// Pool is a pool of addresses of pods.
type Pool struct {
	Name                string
	CIDR                string
	BlockSize           int
	IPIPMode, VXLANMode string
	Disabled            bool
}

// Block is a block of addresses of pods.
type Block struct {
	CIDR        string
	Affinity    string // host:NAME
	Allocations []*int // an element for each address; null for a free one
}

// Affinity is the right of a node to a block: the node announces it when the affinity is confirmed
// (libcalico-go lib/backend/model/block_affinity.go).
type Affinity struct {
	CIDR, Node, State string
	Deleted           bool
}

// wait is the maximum time for which a call retries while no member of etcd serves. In a new cluster with
// etcd on hosts of its own, the API may be ready before the members of Calico's etcd.
const wait = 5 * time.Minute

// Open returns the store of the cluster of the inventory. In a dry run it does not wait for a datastore
// that does not answer.
func Open(ctx context.Context, actx engine.ActionContext) (*cluster.Cluster, Store, error) {
	c, err := actionctx.Cluster(actx)
	if err != nil {
		return nil, nil, err
	}
	client, err := kube.Open(ctx, actx)
	if err != nil {
		return nil, nil, err
	}
	if actx.CheckOnly() {
		client = client.WithRetryTimeout(-1)
	}
	if c.EtcdCalico != nil {
		store, err := openEtcd(ctx, actx, client)
		return c, store, err
	}
	return c, kubernetes{client}, nil
}

// Kubernetes returns the store in the API of a client.
func Kubernetes(client *kube.Client) Store { return kubernetes{client} }
