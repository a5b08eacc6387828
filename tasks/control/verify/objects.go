package verify

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"golang.org/x/sync/errgroup"

	"deployer/tasks/control/kube"
	"deployer/tasks/poll"
)

// serviceName is the name of the Service of the probes.
const serviceName = "probe"

// start creates the Service and the pods, and returns the Service's addresses, the primary one first.
func start(ctx context.Context, c *kube.Client, namespace string, nodes []string, o Options) ([]string, error) {
	service := &corev1.Service{
		TypeMeta:   v1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: v1.ObjectMeta{Name: serviceName, Namespace: namespace},
		Spec: corev1.ServiceSpec{
			Selector: map[string]string{kube.TestLabel: "probe"},
			Ports:    []corev1.ServicePort{{Port: probePort, TargetPort: intstr.FromInt32(probePort)}},
		},
	}
	if o.Further != "" {
		policy := corev1.IPFamilyPolicyRequireDualStack
		service.Spec.IPFamilyPolicy = &policy
	}
	if err := create(ctx, c, service); err != nil {
		return nil, fmt.Errorf("creating the test Service: %w", err)
	}
	var group errgroup.Group
	group.SetLimit(8)
	errs := make([]error, len(nodes))
	for i, node := range nodes {
		group.Go(func() error {
			errs[i] = startPod(ctx, c, probePod(namespace, node, o.Image))
			return nil
		})
	}
	_ = group.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("creating the test pods: %w", err)
	}
	made, err := c.Get(ctx, kube.ServiceKind(), namespace, serviceName)
	if err != nil {
		return nil, fmt.Errorf("reading the test Service: %w", err)
	}
	if all, _, _ := unstructured.NestedStringSlice(made.Object, "spec", "clusterIPs"); len(all) > 0 {
		return all, nil
	}
	ip, _, _ := unstructured.NestedString(made.Object, "spec", "clusterIP")
	return []string{ip}, nil
}

// accountTimeout is the time during which a pod is retried that the API server forbids
// in the new namespace: the controller manager must create its default service account
// first. A leader that ended keeps its lease for 15 s (client-go, --leader-elect-lease-duration),
// and the kubelet starts a container that has lost its lease after a back-off of 10 s or 20 s.
const accountTimeout = 45 * time.Second

// startPod creates a pod, and retries as long as the namespace has no service account.
func startPod(ctx context.Context, c *kube.Client, pod *corev1.Pod) error {
	return poll.Until(ctx, accountTimeout, 250*time.Millisecond, func(ctx context.Context) (string, bool, error) {
		err := create(ctx, c, pod)
		if apierrors.IsForbidden(err) {
			return "", false, poll.Later(fmt.Errorf("%w; the controller manager creates it: has its Lease kube-system/kube-controller-manager a leader?", err))
		}
		return "", err == nil, err
	})
}

func probePod(namespace, node, image string) *corev1.Pod {
	no, yes, grace, user := false, true, int64(0), int64(65534)
	return &corev1.Pod{
		TypeMeta: v1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: v1.ObjectMeta{
			Name: podName(node), Namespace: namespace, Labels: map[string]string{kube.TestLabel: "probe"},
		},
		Spec: corev1.PodSpec{
			NodeName:                      node, // bypasses the scheduler
			Tolerations:                   []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
			RestartPolicy:                 corev1.RestartPolicyNever,
			AutomountServiceAccountToken:  &no,
			EnableServiceLinks:            &no,
			TerminationGracePeriodSeconds: &grace,
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot: &yes, RunAsUser: &user,
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			Containers: []corev1.Container{{
				Name: "probe", Image: image, ImagePullPolicy: corev1.PullNever,
				Args:  []string{"probe", "serve", "--listen", fmt.Sprintf(":%d", probePort)},
				Ports: []corev1.ContainerPort{{ContainerPort: probePort}},
				ReadinessProbe: &corev1.Probe{
					ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/ok", Port: intstr.FromInt32(probePort)}},
					PeriodSeconds: 1,
				},
				SecurityContext: &corev1.SecurityContext{
					AllowPrivilegeEscalation: &no, ReadOnlyRootFilesystem: &yes,
					Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
				},
			}},
		},
	}
}

func podName(node string) string { return "probe-" + node }

// create creates a typed object.
func create(ctx context.Context, c *kube.Client, o any) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return err
	}
	return c.Create(ctx, &unstructured.Unstructured{Object: content})
}
