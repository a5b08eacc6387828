package drain

import (
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1"

	"deployer/tasks/control/kube"
)

// Options are the options of kubectl drain, under its names. DaemonSet pods always
// stay.
type Options struct {
	// Run is recorded on the node as the run that cordoned it.
	Run string
	// Timeout bounds the whole drain; it must be above 0.
	Timeout time.Duration
	// GracePeriod is the time for processes to end; nil means that of each pod.
	GracePeriod *time.Duration
	// DeleteEmptyDirData permits the eviction of pods with emptyDir volumes, whose data
	// is lost.
	DeleteEmptyDirData bool
	// Force permits the eviction of pods that no controller recreates.
	Force bool
	// DisableEviction deletes pods without regard to disruption budgets.
	DisableEviction bool
	// PodSelector selects the pods to evict; empty means all.
	PodSelector string
	// SkipWaitForDelete skips pods that have been terminating for longer; 0 skips none.
	// Use it for nodes whose kubelet is dead.
	SkipWaitForDelete time.Duration
}

// podAction is the action of a drain for a pod.
type podAction int

const (
	evict  podAction = iota
	leave            // the pod stays, as with kubectl drain
	refuse           // the pod or its data would be lost without permission
)

// decide returns the action for one pod by the rules of kubectl drain, in their
// order. owned reports whether the DaemonSet that created a pod exists. why is the
// reason of a refusal, with the argument that permits the eviction.
func (o Options) decide(pod *corev1.Pod, now time.Time, owned func(*corev1.Pod, string) bool) (f podAction, why string) {
	over := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	owner := v1.GetControllerOf(pod)
	_, mirror := pod.Annotations[corev1.MirrorPodAnnotationKey]
	switch {
	case o.stuck(pod, now):
		return leave, ""
	case owner != nil && !over && isDaemonSet(owner):
		switch {
		case owned(pod, owner.Name):
			return leave, ""
		case o.Force:
			return evict, ""
		}
		return refuse, "its DaemonSet does not exist any more; force: true evicts the pod"
	case mirror:
		return leave, ""
	case over, pod.Labels[kube.TestLabel] != "": // a test pod of verify may be lost
		return evict, ""
	case !o.DeleteEmptyDirData && hasEmptyDir(pod):
		return refuse, "the data in its emptyDir volumes would be lost; delete_emptydir_data: true permits it"
	case owner == nil && !o.Force:
		return refuse, "no controller would recreate it; force: true evicts it anyway"
	}
	return evict, ""
}

// stuck reports whether a pod has been terminating for longer than
// SkipWaitForDelete.
func (o Options) stuck(pod *corev1.Pod, now time.Time) bool {
	return o.SkipWaitForDelete > 0 && pod.DeletionTimestamp != nil && now.Sub(pod.DeletionTimestamp.Time) > o.SkipWaitForDelete
}

func isDaemonSet(owner *v1.OwnerReference) bool {
	return owner.Kind == "DaemonSet" && owner.APIVersion == appsv1.SchemeGroupVersion.String()
}

func hasEmptyDir(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.EmptyDir != nil })
}

func nameOf(pod *corev1.Pod) string { return pod.Namespace + "/" + pod.Name }

func byName(a, b corev1.Pod) int { return strings.Compare(nameOf(&a), nameOf(&b)) }
