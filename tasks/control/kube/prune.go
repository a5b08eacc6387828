package kube

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The labels of the objects that deployer manages, and of the objects of one set.
const (
	labelManagedBy = "app.kubernetes.io/managed-by"
	LabelSet       = "deployer/set" // the value is the name of the set
)

// prunable returns the kinds whose objects a set removes when its manifests no longer
// contain them. Namespaces, volumes, claims and CustomResourceDefinitions are never
// removed, as their contents would be lost with them.
func prunable() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{
		DeploymentKind(), DaemonSetKind(), ServiceKind(),
		{Group: "policy", Version: "v1", Kind: "PodDisruptionBudget"},
		kindOf("", "ConfigMap"), kindOf("", "Secret"), kindOf("", "ServiceAccount"),
		{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRoleBinding"},
		{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole"},
		{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "RoleBinding"},
		{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "Role"},
		{Group: "networking.k8s.io", Version: "v1", Kind: "NetworkPolicy"},
		mutatingPolicyBindingKind(), mutatingPolicyKind(), // a policy without a binding has no effect
	}
}

// Label sets the labels of a set on objects.
func Label(objects []*unstructured.Unstructured, set string) {
	for _, o := range objects {
		labels := o.GetLabels()
		if labels == nil {
			labels = map[string]string{}
		}
		labels[labelManagedBy], labels[LabelSet] = Manager, set
		o.SetLabels(labels)
	}
}

// Unlisted returns the deletions of the cluster's objects of a set that are not among
// objects, in the order in which they must be carried out. Objects with an owner
// reference are left to their controllers. Objects that deployer has not applied stay,
// whatever their labels are: kubectl expose gives a new Service those of the Deployment.
func Unlisted(ctx context.Context, c *Client, set string, objects []*unstructured.Unstructured) ([]Planned, error) {
	wanted := map[string]bool{}
	for _, o := range objects {
		wanted[Identity(o)] = true
	}
	kinds := prunable()
	found := make([][]unstructured.Unstructured, len(kinds))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	selector := v1.ListOptions{LabelSelector: labelManagedBy + "=" + Manager + "," + LabelSet + "=" + set}
	for i, gvk := range kinds {
		group.Go(func() (err error) {
			found[i], err = c.List(ctx, gvk, "", selector)
			if err != nil && !IsUnknownKind(err) { // an older Kubernetes has no objects of a newer kind
				return fmt.Errorf("listing objects of kind %s that belong to the set %s: %w", gvk.Kind, set, err)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	var out []Planned
	for i, gvk := range kinds {
		slices.SortFunc(found[i], func(a, b unstructured.Unstructured) int {
			return strings.Compare(a.GetNamespace()+"/"+a.GetName(), b.GetNamespace()+"/"+b.GetName())
		})
		for _, o := range found[i] {
			o.SetGroupVersionKind(gvk) // items of a list may lack it
			if !wanted[Identity(&o)] && len(o.GetOwnerReferences()) == 0 && isApplied(&o) {
				out = append(out, Planned{Object: &o, Needed: true, Delete: true, Effect: ObjectEffect(Describe(&o), "remove: the manifests no longer contain it", "", &o)})
			}
		}
	}
	return out, nil
}

// isApplied reports whether deployer is a field manager of an object.
func isApplied(o *unstructured.Unstructured) bool {
	return slices.ContainsFunc(o.GetManagedFields(), func(e v1.ManagedFieldsEntry) bool { return e.Manager == Manager })
}

// Identity returns a key of an object that is the same in all versions of its group.
func Identity(o *unstructured.Unstructured) string {
	gvk := o.GroupVersionKind()
	namespace := o.GetNamespace()
	if namespace == v1.NamespaceDefault {
		namespace = ""
	}
	return strings.Join([]string{gvk.Group, gvk.Kind, namespace, o.GetName()}, "/")
}
