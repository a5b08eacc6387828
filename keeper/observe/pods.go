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

// Ending returns the pods of a node that somebody has deleted and that still exist. Only their metadata is read: a
// node has up to some hundred pods, and pass after pass while it is away.
func Ending(ctx context.Context, c *kube.Client, node string) ([]world.Pod, error) {
	var out []world.Pod
	seen := map[string]bool{}
	err := c.EachObjectWith(ctx, schema.GroupVersionResource{Version: "v1", Resource: "pods"}, "spec.nodeName="+node, func(o *v1.PartialObjectMetadata) error {
		if o.DeletionTimestamp != nil && !seen[string(o.UID)] {
			seen[string(o.UID)] = true
			out = append(out, world.Pod{Namespace: o.Namespace, Name: o.Name, UID: string(o.UID), Node: node, Deleted: deleted(o.ObjectMeta)})
		}
		return nil
	})
	return out, err
}

// deleted returns when somebody deleted an object; zero when nobody has. The API has the end of the grace period.
func deleted(m v1.ObjectMeta) time.Time {
	if m.DeletionTimestamp == nil {
		return time.Time{}
	}
	at := m.DeletionTimestamp.Time
	if m.DeletionGracePeriodSeconds != nil {
		at = at.Add(-time.Duration(*m.DeletionGracePeriodSeconds) * time.Second)
	}
	return at
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
	out := world.Pod{Namespace: p.Namespace, Name: p.Name, UID: string(p.UID), Node: p.Spec.NodeName, Running: p.Status.Phase == corev1.PodRunning, Deleted: deleted(p.ObjectMeta), Containers: map[string]bool{}}
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
