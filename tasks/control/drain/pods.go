package drain

import (
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Options are those of kubectl drain, under its names. DaemonSet pods are always
// left where they are.
type Options struct {
	// Run is written on the node as who cordoned it.
	Run string
	// Timeout bounds the whole drain; it must be above 0.
	Timeout time.Duration
	// GracePeriod is how long processes get to end; nil means what each pod says.
	GracePeriod *time.Duration
	// DeleteEmptyDirData allows to evict pods whose emptyDir volumes are lost then.
	DeleteEmptyDirData bool
	// Force allows to evict pods that no controller makes anew.
	Force bool
	// DisableEviction deletes pods, whatever disruption budgets say.
	DisableEviction bool
	// PodSelector picks the pods that are evicted; empty means all.
	PodSelector string
	// SkipWaitForDelete passes over pods that have been ending for longer; 0 for
	// none. It is for nodes whose kubelet is dead.
	SkipWaitForDelete time.Duration
}

// podAction is what a drain does with a pod.
type podAction int

const (
	evict  podAction = iota
	leave            // as kubectl drain leaves it
	refuse           // it would be lost, and nobody has allowed that
)

// decide decides about one pod by the rules of kubectl drain, in their order. owned
// tells whether the DaemonSet that made a pod is there. why says what is refused,
// and which argument allows it.
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
		return refuse, "its DaemonSet is gone; force: true evicts it"
	case mirror:
		return leave, ""
	case over:
		return evict, ""
	case !o.DeleteEmptyDirData && hasEmptyDir(pod):
		return refuse, "the data in its emptyDir volumes would be lost; delete_emptydir_data: true allows that"
	case owner == nil && !o.Force:
		return refuse, "no controller would make it anew; force: true evicts it all the same"
	}
	return evict, ""
}

// stuck tells of pods that have been ending for longer than is waited for.
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
