package act

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"deployer/keeper/decide"
	"deployer/keeper/observe"
	"deployer/keeper/world"
	"deployer/tasks/control/kube"
)

// maxConflicts is the number of times that somebody may change a Node while its taints are set: its kubelet and the
// controllers of Kubernetes do, too.
const maxConflicts = 5

// fence switches off the machine of a node by hooks, and tells Kubernetes by a taint that it is off. The node is read
// again in between: hooks take minutes, and one that reports meanwhile is not off. A node that has left is nobody's to
// switch off.
func (a Actor) fence(ctx context.Context, action decide.Action) error {
	n := action.Node
	if _, err := a.there(ctx, n); err != nil {
		return err
	}
	if err := a.silent(ctx, n); err != nil {
		return err
	}
	if err := a.Fencing(ctx, n); err != nil {
		return err
	}
	if err := runHooks(ctx, a.Settings.Fence.Hooks, hookTarget{Node: n.Name, Address: n.Address, Cluster: a.Cluster}.in("fence")); err != nil {
		return fmt.Errorf("the machine of node %s may run: %w", n.Name, err)
	}
	if err := a.taint(ctx, n, corev1.Taint{Key: corev1.TaintNodeOutOfService, Value: observe.OutOfServiceByKeeper, Effect: corev1.TaintEffectNoExecute}); err != nil {
		return fmt.Errorf("the hooks have run: %w", err)
	}
	return nil
}

// unfence removes the taint of fence. A node that is not Ready any more keeps it.
func (a Actor) unfence(ctx context.Context, action decide.Action) error {
	return a.taint(ctx, action.Node)
}

// there returns a Node that is as it was when the action was decided on.
func (a Actor) there(ctx context.Context, was world.Node) (*unstructured.Unstructured, error) {
	if err := a.unchanged(ctx, was); err != nil {
		return nil, err
	}
	object, err := a.Kube.Get(ctx, kube.NodeKind(), "", was.Name)
	if err != nil {
		return nil, fmt.Errorf("reading node %s: %w", was.Name, err)
	}
	return object, nil
}

// taint replaces the keeper's taints of a node by others. The version in the patch makes the API refuse it when somebody
// has changed the Node since it was read, because a list of taints is replaced as a whole; then it is read again.
func (a Actor) taint(ctx context.Context, was world.Node, want ...corev1.Taint) error {
	for conflicts := 0; ; conflicts++ {
		object, err := a.there(ctx, was)
		if err != nil {
			return err
		}
		var node corev1.Node
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &node); err != nil {
			return fmt.Errorf("reading node %s: %w", was.Name, err)
		}
		others := slices.DeleteFunc(node.Spec.Taints, func(t corev1.Taint) bool {
			return t.Key == corev1.TaintNodeOutOfService && t.Value == observe.OutOfServiceByKeeper
		})
		text, err := json.Marshal(map[string]any{
			"metadata": map[string]any{"uid": was.UID, "resourceVersion": node.ResourceVersion},
			"spec":     map[string]any{"taints": append(others, want...)},
		})
		if err != nil {
			return err
		}
		_, err = a.Kube.Patch(ctx, kube.NodeKind(), "", was.Name, text, Manager)
		if err == nil {
			return nil
		}
		if !apierrors.IsConflict(err) || conflicts == maxConflicts {
			return fmt.Errorf("setting the taints of node %s: %w", was.Name, err)
		}
	}
}
