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

// BudgetError says that a pod cannot be evicted now because a disruption budget
// does not allow it. It may later.
type BudgetError struct{ Message string }

func (e *BudgetError) Error() string { return e.Message }

// Evict asks to remove a pod in the way that heeds disruption budgets. grace is
// how many seconds its processes get, nil what the pod says. A pod that is gone,
// another one of the same name too, is no error; one that its budgets keep is a
// *BudgetError.
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
	return gone(c.persist(ctx, func(ctx context.Context) error {
		_, err := r.Create(ctx, &unstructured.Unstructured{Object: content}, v1.CreateOptions{}, "eviction")
		if apierrors.HasStatusCause(err, policyv1.DisruptionBudgetCause) {
			return &BudgetError{err.Error()}
		}
		return err
	}))
}

// DeletePod removes a pod whatever disruption budgets say. Otherwise it is as
// Evict.
func (c *Client) DeletePod(ctx context.Context, pod *corev1.Pod, grace *int64) error {
	r, err := c.resource(ctx, PodKind(), pod.Namespace)
	if err != nil {
		return err
	}
	return gone(c.persist(ctx, func(ctx context.Context) error {
		return r.Delete(ctx, pod.Name, v1.DeleteOptions{GracePeriodSeconds: grace, Preconditions: v1.NewUIDPreconditions(string(pod.UID))})
	}))
}

// gone takes a pod that is not there, or not that one, for success.
func gone(err error) error {
	var budget *BudgetError
	if !errors.As(err, &budget) && (apierrors.IsNotFound(err) || apierrors.IsConflict(err)) {
		return nil
	}
	return err
}

// ListAs reads the objects of a kind into their Go type. namespace "" means all.
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
