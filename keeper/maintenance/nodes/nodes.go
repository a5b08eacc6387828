// Package nodes reads, changes and drains Node objects for loops that look at all nodes again and again: lists take
// little memory, changes do not overwrite those of other clients, drains do not wait.
package nodes

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	"deployer/keeper/maintenance/profile"
	"deployer/tasks/control/kube"
)

// Manager is the field manager of changes.
const Manager = "deployer-maintenance"

// maxConflicts is the number of times that a change of a node is tried again after another client's.
const maxConflicts = 10

// List returns all nodes by name, without their lists of images and of managed fields, which are most of their
// size.
func List(ctx context.Context, c *kube.Client) ([]*corev1.Node, error) {
	byName := map[string]*corev1.Node{}
	err := kube.EachOf(ctx, c, corev1.SchemeGroupVersion.WithResource("nodes"), func(n *corev1.Node) {
		byName[n.Name] = slim(n)
	})
	return slices.SortedFunc(maps.Values(byName), func(a, b *corev1.Node) int { return cmp.Compare(a.Name, b.Name) }), err
}

func slim(n *corev1.Node) *corev1.Node {
	n.ManagedFields, n.Status.Images = nil, nil
	return n
}

// Patch makes change on a node, and returns the node as it is then. When another client, often the kubelet, has
// changed the node since it was read, Patch reads it again; a change of its profiles or their states ends it,
// because change was decided on the former ones.
func Patch(ctx context.Context, c *kube.Client, read *corev1.Node, change func(*corev1.Node)) (*corev1.Node, error) {
	before := read
	for try := 1; ; try++ {
		after := before.DeepCopy()
		change(after)
		patch := difference(before, after)
		if patch == nil {
			return before, nil
		}
		patch["metadata"].(map[string]any)["resourceVersion"] = before.ResourceVersion
		text, err := json.Marshal(patch)
		if err != nil {
			return nil, err
		}
		got, err := c.Patch(ctx, kube.NodeKind(), "", read.Name, text, Manager)
		if err == nil {
			stored := &corev1.Node{}
			err = runtime.DefaultUnstructuredConverter.FromUnstructured(got.Object, stored)
			return slim(stored), err
		}
		if !apierrors.IsConflict(err) || try == maxConflicts {
			return nil, fmt.Errorf("changing the node: %w", err)
		}
		if before, err = kube.GetNode(ctx, c, read.Name); err != nil {
			return nil, err
		}
		slim(before)
		if before.UID != read.UID {
			return nil, fmt.Errorf("there is a new node with this name since the pass began")
		}
		after = before.DeepCopy()
		if change(after); difference(before, after) == nil {
			return before, nil // an attempt that seemed to fail was stored
		}
		if before.Annotations[profile.DataAnnotation] != read.Annotations[profile.DataAnnotation] || before.Labels[profile.ProfileLabel] != read.Labels[profile.ProfileLabel] {
			return nil, fmt.Errorf("another client has changed label %s or annotation %s since the pass began; nothing was stored", profile.ProfileLabel, profile.DataAnnotation)
		}
	}
}

// difference returns the merge patch from one node to another, of what triggers change: labels, annotations,
// finalizers and spec.unschedulable; nil when they are the same.
func difference(before, after *corev1.Node) map[string]any {
	meta, patch := map[string]any{}, map[string]any{}
	if labels := mapDifference(before.Labels, after.Labels); len(labels) > 0 {
		meta["labels"] = labels
	}
	if annotations := mapDifference(before.Annotations, after.Annotations); len(annotations) > 0 {
		meta["annotations"] = annotations
	}
	if !slices.Equal(before.Finalizers, after.Finalizers) {
		meta["finalizers"] = after.Finalizers
	}
	if before.Spec.Unschedulable != after.Spec.Unschedulable {
		patch["spec"] = map[string]any{"unschedulable": after.Spec.Unschedulable}
	}
	if len(meta) == 0 && len(patch) == 0 {
		return nil
	}
	patch["metadata"] = meta
	return patch
}

func mapDifference(before, after map[string]string) map[string]any {
	out := map[string]any{}
	for key, value := range after {
		if old, ok := before[key]; !ok || old != value {
			out[key] = value
		}
	}
	for key := range before {
		if _, ok := after[key]; !ok {
			out[key] = nil
		}
	}
	return out
}
