package conformance

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Names of the objects of a run.
const (
	// Namespace is the namespace of a run, and the name of its ClusterRoleBinding.
	Namespace = "deployer-conformance"
	account   = "conformance"
	podName   = "conformance"

	testsContainer   = "tests"
	resultsContainer = "results"

	resultsDir  = "/tmp/results"
	resultsPort = 8099
)

// heartbeatKey is the annotation of the namespace that a run changes while it lives.
const heartbeatKey = "deployer/heartbeat"

func bindingKind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: rbacv1.GroupName, Version: "v1", Kind: "ClusterRoleBinding"}
}

func namespaceObject() *corev1.Namespace {
	return &corev1.Namespace{
		TypeMeta: v1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
		ObjectMeta: v1.ObjectMeta{Name: Namespace, Labels: map[string]string{
			"app.kubernetes.io/managed-by": "deployer", "pod-security.kubernetes.io/enforce": "privileged",
		}},
	}
}

// accountObjects are the service account of the tests and its rights: all of them, because tests
// create roles, nodes' taints and namespaces of their own.
func accountObjects() []any {
	return []any{
		&corev1.ServiceAccount{
			TypeMeta:   v1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"},
			ObjectMeta: v1.ObjectMeta{Name: account, Namespace: Namespace},
		},
		&rbacv1.ClusterRoleBinding{
			TypeMeta:   v1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRoleBinding"},
			ObjectMeta: v1.ObjectMeta{Name: Namespace, Labels: map[string]string{"app.kubernetes.io/managed-by": "deployer"}},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
			Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Name: account, Namespace: Namespace}},
		},
	}
}

// pod returns the pod of the tests. It tolerates every taint, because tests set some, and its node
// is given, because tests fill the schedulable ones.
func (o Options) pod() *corev1.Pod {
	no, yes, user, grace := false, true, int64(65534), int64(o.times.grace.Seconds())
	results := []corev1.VolumeMount{{Name: "results", MountPath: resultsDir}}
	return &corev1.Pod{
		TypeMeta:   v1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: v1.ObjectMeta{Name: podName, Namespace: Namespace},
		Spec: corev1.PodSpec{
			NodeName:                      o.Node,
			Tolerations:                   []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
			RestartPolicy:                 corev1.RestartPolicyNever,
			ServiceAccountName:            account,
			TerminationGracePeriodSeconds: &grace,
			Volumes:                       []corev1.Volume{{Name: "results", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
			Containers: []corev1.Container{
				{
					Name: resultsContainer, Image: o.Probe, ImagePullPolicy: corev1.PullNever, VolumeMounts: results,
					Args: []string{"probe", "results", "--listen", fmt.Sprintf(":%d", resultsPort), resultsDir},
					ReadinessProbe: &corev1.Probe{
						ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/ok", Port: intstr.FromInt32(resultsPort)}},
						PeriodSeconds: 2,
					},
					SecurityContext: &corev1.SecurityContext{
						RunAsNonRoot: &yes, RunAsUser: &user, AllowPrivilegeEscalation: &no, ReadOnlyRootFilesystem: &yes,
						Capabilities:   &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
						SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
					},
				},
				{
					Name: testsContainer, Image: o.Image, ImagePullPolicy: corev1.PullIfNotPresent, VolumeMounts: results,
					Command: o.command(),
				},
			},
		},
	}
}
