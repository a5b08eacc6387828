package kube

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// PodDisruptionBudgetKind is the kind of PodDisruptionBudgets.
func PodDisruptionBudgetKind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "policy", Version: "v1", Kind: "PodDisruptionBudget"}
}

// LeaseKind is the kind of Leases, which kubelets renew every 10 s.
func LeaseKind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "coordination.k8s.io", Version: "v1", Kind: "Lease"}
}

// BudgetError reports that a disruption budget does not allow the eviction of a pod
// now. The caller may retry later.
type BudgetError struct{ Message string }

func (e *BudgetError) Error() string { return e.Message }

// Evict removes a pod within its disruption budgets. grace is the termination grace
// period in seconds; nil: the pod's own. A pod that does not exist any more, or whose
// name another pod has now, is no error, and neither is a pod whose namespace is being
// deleted: the API refuses evictions there, and the pod goes with its namespace. Evict
// fails with a *BudgetError when a budget does not allow the eviction.
func (c *Client) Evict(ctx context.Context, pod *corev1.Pod, grace *int64) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&policyv1.Eviction{
		TypeMeta:      v1.TypeMeta{APIVersion: "policy/v1", Kind: "Eviction"},
		ObjectMeta:    v1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
		DeleteOptions: &v1.DeleteOptions{GracePeriodSeconds: grace, Preconditions: v1.NewUIDPreconditions(string(pod.UID))},
	})
	if err != nil {
		return err
	}
	r, err := c.resource(ctx, PodKind(), pod.Namespace)
	if err != nil {
		return err
	}
	return ignoreGone(c.retry(ctx, func(ctx context.Context) error {
		_, err := r.Create(ctx, &unstructured.Unstructured{Object: content}, v1.CreateOptions{}, "eviction")
		if apierrors.HasStatusCause(err, policyv1.DisruptionBudgetCause) {
			return &BudgetError{err.Error()}
		}
		if apierrors.IsForbidden(err) && apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
			return nil
		}
		return err
	}))
}

// DeletePod removes a pod and ignores disruption budgets. grace and missing pods are
// as for [Client.Evict].
func (c *Client) DeletePod(ctx context.Context, pod *corev1.Pod, grace *int64) error {
	r, err := c.resource(ctx, PodKind(), pod.Namespace)
	if err != nil {
		return err
	}
	return ignoreGone(c.retry(ctx, func(ctx context.Context) error {
		return r.Delete(ctx, pod.Name, v1.DeleteOptions{GracePeriodSeconds: grace, Preconditions: v1.NewUIDPreconditions(string(pod.UID))})
	}))
}

// ignoreGone turns the errors for a pod that does not exist, or that has another UID,
// into success.
func ignoreGone(err error) error {
	var budget *BudgetError
	if !errors.As(err, &budget) && (apierrors.IsNotFound(err) || apierrors.IsConflict(err)) {
		return nil
	}
	return err
}

// ListAs reads the objects of a kind into their Go type. The namespace "" means all
// namespaces.
func ListAs[T any](ctx context.Context, c *Client, kind schema.GroupVersionKind, namespace string, options v1.ListOptions) ([]T, error) {
	items, err := c.List(ctx, kind, namespace, options)
	if err != nil {
		return nil, err
	}
	out := make([]T, len(items))
	for i := range items {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(items[i].Object, &out[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}
