package kube

import (
	"context"
	"errors"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"deployer/engine"
	"deployer/tasks/poll"
)

// Node is the action `kube_node`: it sets labels, taints and pod range of the Node
// object that the kubelet of a host creates, or deletes the Node object.
type Node struct {
	Name    string            `yaml:"name" rule:"node" doc:"Name of the node; default: the host."`
	Labels  map[string]string `yaml:"labels" rule:"label" keys:"label-key" doc:"Labels to set; labels that an earlier run set and that are no longer listed are removed. Default: unchanged."`
	Taints  []Taint           `yaml:"taints" doc:"Taints to set; taints that an earlier run set and that are no longer listed are removed. Default: unchanged."`
	PodCIDR string            `yaml:"pod_cidr" rule:"prefixes" doc:"Pod range of the node, in a dual-stack cluster one of each family, separated by a comma. Kubernetes accepts them only once; a range of the other family that comes later is recorded as an annotation. Default: unchanged."`
	Absent  bool              `yaml:"absent" doc:"Delete the Node object of a host without kubelet, and its Lease; default false."`
	Ready   bool              `yaml:"ready" doc:"Wait until the node is Ready; default false."`
	// NetworkLater is for clusters whose pod network is applied through their API.
	NetworkLater bool          `yaml:"network_later" doc:"With ready: as long as no node of the cluster has a pod network, a node need not be Ready that lacks nothing else; default false."`
	Timeout      time.Duration `yaml:"timeout" range:"0s.." doc:"Maximum wait for the Node object and for Ready; default 2m."`
}

// Taint is a taint as playbooks write it.
type Taint struct {
	Key    string `yaml:"key" rule:"label-key" doc:"Key of the taint." required:"true"`
	Value  string `yaml:"value" rule:"label" doc:"Value of the taint; default empty."`
	Effect string `yaml:"effect" rule:"in:NoSchedule,PreferNoSchedule,NoExecute" doc:"Effect of the taint: NoSchedule, PreferNoSchedule or NoExecute." required:"true"`
}

// NewNode returns the action with its defaults.
func NewNode() *Node { return &Node{Timeout: 2 * time.Minute} }

// Valid implements engine.Validator.
func (n *Node) Valid() error {
	if n.Absent && (n.Ready || n.Labels != nil || n.Taints != nil || n.PodCIDR != "") {
		return errors.New("absent excludes labels, taints, pod_cidr and ready")
	}
	return nil
}

// Check waits for the Node object and returns the differences. With Ready, and without
// differences, Check waits until the node is Ready.
func (n *Node) Check(ctx context.Context, actx engine.ActionContext) (engine.Change, error) {
	if err := n.Valid(); err != nil {
		return engine.Change{}, err
	}
	client, err := Open(ctx, actx)
	if err != nil {
		return engine.Change{}, err
	}
	name, dry := n.name(actx), actx.CheckOnly()
	if n.Absent {
		return n.checkAbsent(ctx, client, name)
	}
	timeout := n.Timeout
	if dry {
		client, timeout = client.WithRetryTimeout(-1), 0
	}
	node, err := WaitNode(ctx, client, name, timeout, actx.Progress)
	if dry && err != nil && (apierrors.IsNotFound(err) || IsTransient(err)) {
		if n.Labels == nil && n.Taints == nil && n.PodCIDR == "" {
			return engine.NoChange(nil), nil // it would only wait
		}
		return engine.Changed(engine.Effect{Kind: engine.EffectObject, Target: "Node " + name, Action: "set labels, taints and pod range; there is no such node now"}), nil
	}
	if err != nil {
		return engine.Change{}, err
	}
	patch, effects, err := NodePatch(node, n.spec())
	if err != nil {
		return engine.Change{}, err
	}
	if patch == nil && n.Ready && !dry {
		return engine.Change{}, n.wait(ctx, client, name, actx.Progress)
	}
	return engine.Change{Needed: patch != nil, Effects: effects}, nil
}

// checkAbsent returns a needed change when the Node object exists.
func (n *Node) checkAbsent(ctx context.Context, client *Client, name string) (engine.Change, error) {
	var effects []engine.Effect
	for _, o := range nodeObjects() {
		_, err := client.Get(ctx, o.kind, o.namespace, name)
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			return engine.Change{}, fmt.Errorf("reading %s %s: %w", o.kind.Kind, name, err)
		default:
			effects = append(effects, engine.Effect{Kind: engine.EffectObject, Target: o.kind.Kind + " " + name, Action: "remove", Reason: "its host is not a node any more"})
		}
	}
	return engine.Change{Needed: len(effects) > 0, Effects: effects}, nil
}

// nodeObject is an object that has the name of a node.
type nodeObject struct {
	kind      schema.GroupVersionKind
	namespace string
}

// nodeObjects returns the objects that a kubelet creates for its node. The garbage
// collector would remove the Lease some time after the Node.
func nodeObjects() []nodeObject {
	return []nodeObject{{NodeKind(), ""}, {coordinationv1.SchemeGroupVersion.WithKind("Lease"), corev1.NamespaceNodeLease}}
}

// deleteNode deletes the Node object and the Lease of a node, if they exist.
func deleteNode(ctx context.Context, client *Client, name string) error {
	for _, o := range nodeObjects() {
		if err := client.Delete(ctx, o.kind, o.namespace, name, -1); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("deleting %s %s: %w", o.kind.Kind, name, err)
		}
	}
	return nil
}

// Apply patches or deletes the Node object and, with Ready, waits until the node is
// Ready.
func (n *Node) Apply(ctx context.Context, actx engine.ActionContext, _ engine.Change) (engine.Output, error) {
	client, err := Open(ctx, actx)
	if err != nil {
		return nil, err
	}
	if n.Absent {
		return nil, deleteNode(ctx, client, n.name(actx))
	}
	if err := UpdateNode(ctx, client, n.name(actx), n.spec()); err != nil {
		return nil, err
	}
	if n.Ready {
		return nil, n.wait(ctx, client, n.name(actx), actx.Progress)
	}
	return nil, nil
}

// Gate returns the wait for Ready without labels, taints and pod range; nil without
// Ready.
func (n *Node) Gate() any {
	if !n.Ready {
		return nil
	}
	return &Node{Name: n.Name, Ready: true, NetworkLater: n.NetworkLater, Timeout: n.Timeout}
}

// wait waits until the node is Ready.
func (n *Node) wait(ctx context.Context, client *Client, name string, progress func(string)) error {
	if n.NetworkLater {
		return waitReadyOrWithoutNetwork(ctx, client, name, n.Timeout, progress)
	}
	return WaitReady(ctx, client, []string{name}, 1, n.Timeout, progress)
}

func (n *Node) name(actx engine.ActionContext) string {
	if n.Name != "" {
		return n.Name
	}
	return actx.Host()
}

func (n *Node) spec() NodeSpec {
	wish := NodeSpec{Labels: n.Labels, PodCIDR: n.PodCIDR}
	if n.Taints != nil {
		wish.Taints = []corev1.Taint{}
	}
	for _, t := range n.Taints {
		wish.Taints = append(wish.Taints, corev1.Taint{Key: t.Key, Value: t.Value, Effect: corev1.TaintEffect(t.Effect)})
	}
	return wish
}

// UpdateNode brings a node to the wanted state. A conflict with another writer, frequent
// while the kubelet registers a new node, is retried with a patch of the new version,
// at most ten times.
func UpdateNode(ctx context.Context, c *Client, name string, wish NodeSpec) error {
	for try := 1; ; try++ {
		node, err := GetNode(ctx, c, name)
		if err != nil {
			return err
		}
		patch, _, err := NodePatch(node, wish)
		if err != nil || patch == nil {
			return err
		}
		_, err = c.Patch(ctx, NodeKind(), "", name, patch, Manager)
		if err == nil {
			return nil
		}
		if !apierrors.IsConflict(err) || try == 10 {
			return fmt.Errorf("patching node %s: %w", name, err)
		}
	}
}

// GetNode reads one node.
func GetNode(ctx context.Context, c *Client, name string) (*corev1.Node, error) {
	o, err := c.Get(ctx, NodeKind(), "", name)
	if err != nil {
		return nil, fmt.Errorf("reading node %s: %w", name, err)
	}
	var node corev1.Node
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &node); err != nil {
		return nil, fmt.Errorf("reading node %s: %w", name, err)
	}
	return &node, nil
}

// WaitNode waits until the Node object exists, and returns it. A timeout of 0 means one
// read without waiting.
func WaitNode(ctx context.Context, c *Client, name string, timeout time.Duration, progress func(string)) (*corev1.Node, error) {
	node, err := GetNode(ctx, c, name)
	if !apierrors.IsNotFound(err) {
		return node, err
	}
	if timeout == 0 {
		return nil, err
	}
	progress("waiting until the kubelet has created node " + name)
	late := poll.Until(ctx, timeout, 250*time.Millisecond, func(ctx context.Context) (string, bool, error) {
		node, err = GetNode(ctx, c, name)
		if apierrors.IsNotFound(err) {
			return "there is no such node", false, nil
		}
		return "", err == nil, err
	})
	if late != nil {
		return nil, fmt.Errorf("the kubelet has not created node %s; see its log on the host (journalctl -u kubelet): %w", name, late)
	}
	return node, nil
}
