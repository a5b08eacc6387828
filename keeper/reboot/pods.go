package reboot

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
)

// podAction is what a shutdown does with a pod of the node.
type podAction int

const (
	ignore podAction = iota // it has no volume that another node could want, or it has ended
	stay                    // it has one, and is not evicted
	evict
)

// decide returns the action for a pod. A pod with a volume of a claim is evicted, so that its volume is
// free for its successor on another node. These stay:
//   - pods of DaemonSets and static pods, which would come back to this node,
//   - pods without a controller, which would not come back at all.
func decide(pod *corev1.Pod) podAction {
	if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed || !slices.ContainsFunc(pod.Spec.Volumes, claimed) {
		return ignore
	}
	owner := v1.GetControllerOf(pod)
	if _, static := pod.Annotations[corev1.MirrorPodAnnotationKey]; static || owner == nil || owner.Kind == "DaemonSet" {
		return stay
	}
	return evict
}

// claimed reports whether a volume is that of a PersistentVolumeClaim, which a generic ephemeral volume
// has, too.
func claimed(v corev1.Volume) bool { return v.PersistentVolumeClaim != nil || v.Ephemeral != nil }

func nameOf(pod *corev1.Pod) string { return pod.Namespace + "/" + pod.Name }
