package reboot

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestDecide(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*corev1.Pod)
		want   podAction
	}{
		"a volume of a claim": {func(*corev1.Pod) {}, evict},
		"a generic ephemeral volume": {func(p *corev1.Pod) {
			p.Spec.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}}}
		}, evict},
		"pending, with its volume": {func(p *corev1.Pod) { p.Status.Phase = corev1.PodPending }, evict},
		"ending already":           {func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{} }, evict},
		"of a Job":                 {func(p *corev1.Pod) { p.OwnerReferences[0].Kind = "Job" }, evict},
		"no volumes":               {func(p *corev1.Pod) { p.Spec.Volumes = nil }, ignore},
		"volumes of other kinds": {func(p *corev1.Pod) {
			p.Spec.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}, {VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{}}}}
		}, ignore},
		"succeeded":      {func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }, ignore},
		"failed":         {func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }, ignore},
		"of a DaemonSet": {func(p *corev1.Pod) { p.OwnerReferences[0].Kind = "DaemonSet" }, stay},
		"static": {func(p *corev1.Pod) {
			p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"}
		}, stay},
		"of nobody":                         {func(p *corev1.Pod) { p.OwnerReferences = nil }, stay},
		"of an owner that is no controller": {func(p *corev1.Pod) { p.OwnerReferences[0].Controller = nil }, stay},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			yes := true
			pod := &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "db", Controller: &yes}}},
				Spec:       corev1.PodSpec{Volumes: []corev1.Volume{{VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}},
				Status:     corev1.PodStatus{Phase: corev1.PodRunning},
			}
			c.change(pod)
			if got := decide(pod); got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}

func TestIsStopping(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]bool{
		"stopping\n": true, "running\n": false, "degraded\n": false, "starting\n": false, "maintenance\n": false, "unknown\n": false, "offline\n": false, "": false,
	} {
		if got := isStopping(answer); got != want {
			t.Errorf("%q: %t", answer, got)
		}
	}
}

func TestMountedPods(t *testing.T) {
	t.Parallel()
	const text = `36 35 98:0 / / rw,noatime shared:1 - ext4 /dev/root rw
92 36 0:41 / /var/lib/kubelet/pods/a-1/volumes/kubernetes.io~csi/pvc-1/mount rw shared:52 - ext4 /dev/rbd0 rw
93 36 0:42 / /var/lib/kubelet/pods/a-1/volumes/kubernetes.io~projected/kube-api-access-x rw shared:53 - tmpfs tmpfs rw
94 36 0:43 / /var/lib/kubelet/pods/b-2/volume-subpaths/pvc-2/main/0 rw shared:54 - xfs /dev/sdb rw
95 36 0:44 / /var/lib/kubelet/pods/c-3/containers/main/hosts rw - tmpfs tmpfs rw
96 36 0:45 / /var/lib/kubelet/plugins/kubernetes.io/csi/x/globalmount rw - ext4 /dev/rbd0 rw
97 36 0:46 / /mnt/var/lib/kubelet/pods/d-4/volumes/x rw - ext4 /dev/sdc rw
short
`
	all := []types.UID{"a-1", "b-2", "c-3", "d-4"}
	if got := mountedPods(text, all); !slices.Equal(got, []types.UID{"a-1", "b-2"}) {
		t.Errorf("got %v", got)
	}
	if got := mountedPods(text, []types.UID{"c-3"}); len(got) > 0 {
		t.Errorf("got %v of a pod without mounts", got)
	}
}
