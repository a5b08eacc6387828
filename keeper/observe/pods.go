package observe

import (
	"context"
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"deployer/cluster"
	"deployer/keeper/world"
	"deployer/tasks/control/kube"
)

// Ending returns the pods of a node that somebody has deleted and that still exist.
func Ending(ctx context.Context, c *kube.Client, node string) ([]world.Pod, error) {
	pods, err := kube.ListAs[corev1.Pod](ctx, c, kube.PodKind(), "", v1.ListOptions{FieldSelector: "spec.nodeName=" + node})
	var out []world.Pod
	for i := range pods {
		if pods[i].DeletionTimestamp != nil {
			out = append(out, readPod(&pods[i]))
		}
	}
	return out, err
}

// Watched returns the pods that a setting of stuck containers selects.
func Watched(ctx context.Context, c *kube.Client, s cluster.StuckContainerSpec) ([]world.Pod, error) {
	pods, err := kube.ListAs[corev1.Pod](ctx, c, kube.PodKind(), s.Namespace, v1.ListOptions{LabelSelector: s.Selector})
	var out []world.Pod
	for i := range pods {
		out = append(out, readPod(&pods[i]))
	}
	return out, err
}

func readPod(p *corev1.Pod) world.Pod {
	out := world.Pod{Namespace: p.Namespace, Name: p.Name, UID: string(p.UID), Node: p.Spec.NodeName, Running: p.Status.Phase == corev1.PodRunning, Containers: map[string]bool{}}
	if p.DeletionTimestamp != nil {
		// The API sets the time at which the grace period ends.
		out.Deleted = p.DeletionTimestamp.Time
		if p.DeletionGracePeriodSeconds != nil {
			out.Deleted = out.Deleted.Add(-time.Duration(*p.DeletionGracePeriodSeconds) * time.Second)
		}
	}
	if p.Status.StartTime != nil {
		out.Started = p.Status.StartTime.Time
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.ContainersReady {
			out.ContainersReady, out.ReadySince = world.Readiness(c.Status), c.LastTransitionTime.Time
		}
	}
	for _, c := range p.Status.ContainerStatuses {
		out.Containers[c.Name] = c.Ready
	}
	return out
}

// Scaled returns the objects that a scale policy selects.
func Scaled(ctx context.Context, c *kube.Client, s cluster.ScalePolicySpec) ([]world.Object, error) {
	gv, err := schema.ParseGroupVersion(s.APIVersion)
	if err != nil {
		return nil, err
	}
	objects, err := c.List(ctx, gv.WithKind(s.Kind), s.Namespace, v1.ListOptions{LabelSelector: s.Selector})
	var out []world.Object
	for _, o := range objects {
		replicas, has, _ := unstructured.NestedInt64(o.Object, "spec", "replicas")
		if !has {
			replicas = -1
		}
		out = append(out, world.Object{APIVersion: s.APIVersion, Kind: s.Kind, Namespace: o.GetNamespace(), Name: o.GetName(), UID: string(o.GetUID()),
			Replicas: int(replicas), Patched: merged(o.Object, s.Patch)})
	}
	return out, err
}

// merged reports whether a JSON merge patch would leave an object as it is.
func merged(object, patch map[string]any) bool {
	for key, want := range patch {
		have, there := object[key]
		inner, isMap := want.(map[string]any)
		switch {
		case want == nil:
			if there {
				return false
			}
		case isMap:
			below, ok := have.(map[string]any)
			if !ok || !merged(below, inner) {
				return false
			}
		case !equal(have, want):
			return false
		}
	}
	return true
}

// equal compares values of JSON and YAML, whose whole numbers have different types.
func equal(a, b any) bool {
	number := func(v any) any {
		switch n := v.(type) {
		case int:
			return float64(n)
		case int64:
			return float64(n)
		}
		return v
	}
	list, isList := a.([]any)
	other, otherIsList := b.([]any)
	if isList && otherIsList {
		if len(list) != len(other) {
			return false
		}
		for i := range list {
			if !equal(list[i], other[i]) {
				return false
			}
		}
		return true
	}
	one, isMap := a.(map[string]any)
	two, otherIsMap := b.(map[string]any)
	if isMap && otherIsMap {
		return len(one) == len(two) && merged(one, two)
	}
	return reflect.DeepEqual(number(a), number(b))
}
