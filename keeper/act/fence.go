package act

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	v1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"deployer/keeper/decide"
	"deployer/keeper/observe"
	"deployer/keeper/world"
	"deployer/tasks/control/kube"
)

// fence switches off the machine of a node by hooks, and tells Kubernetes by a taint that it is off. The node is read
// again in between: hooks take minutes, and one that reports meanwhile is not off.
func (a Actor) fence(ctx context.Context, action decide.Action) error {
	n := action.Node
	if err := a.unchanged(ctx, n); err != nil {
		return err
	}
	if err := runHooks(ctx, a.Settings.Fence.Hooks, hookTarget{Node: n.Name, Address: n.Address, Cluster: a.Cluster}.in("fence")); err != nil {
		return fmt.Errorf("the machine of node %s may run: %w", n.Name, err)
	}
	if err := a.unchanged(ctx, n); err != nil {
		return fmt.Errorf("the hooks have run: %w", err)
	}
	added := v1.NewTime(time.Now().UTC().Truncate(time.Second))
	return a.taint(ctx, n, func(taints []corev1.Taint) []corev1.Taint {
		return append(taints, corev1.Taint{Key: corev1.TaintNodeOutOfService, Value: observe.OutOfServiceByKeeper, Effect: corev1.TaintEffectNoExecute, TimeAdded: &added})
	})
}

// unfence removes the taint of fence. A node that is not Ready any more keeps it.
func (a Actor) unfence(ctx context.Context, action decide.Action) error {
	if err := a.unchanged(ctx, action.Node); err != nil {
		return err
	}
	return a.taint(ctx, action.Node, func(taints []corev1.Taint) []corev1.Taint { return taints })
}

// taint replaces the keeper's taint of a node. The version in the patch makes the API refuse it when somebody has changed
// the Node since it was read, because a list of taints is replaced as a whole; then the next pass tries again.
func (a Actor) taint(ctx context.Context, was world.Node, change func([]corev1.Taint) []corev1.Taint) error {
	object, err := a.Kube.Get(ctx, kube.NodeKind(), "", was.Name)
	if err != nil {
		return fmt.Errorf("reading node %s: %w", was.Name, err)
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
		"spec":     map[string]any{"taints": change(others)},
	})
	if err != nil {
		return err
	}
	if _, err := a.Kube.Patch(ctx, kube.NodeKind(), "", was.Name, text, Manager); err != nil {
		return fmt.Errorf("setting the taints of node %s: %w", was.Name, err)
	}
	return nil
}
