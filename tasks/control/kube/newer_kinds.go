package kube

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func mutatingPolicyKind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "MutatingAdmissionPolicy"}
}

func mutatingPolicyBindingKind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "MutatingAdmissionPolicyBinding"}
}

// servedSince returns the first version of Kubernetes that serves a kind by default, such as v1.36; empty for kinds that all
// supported versions serve, and for those of other programs.
func servedSince(gvk schema.GroupVersionKind) string {
	switch gvk {
	case mutatingPolicyKind(), mutatingPolicyBindingKind():
		return "v1.36" // k8s.io/kubernetes v1.36.3, pkg/features, MutatingAdmissionPolicy
	}
	return ""
}

// planDryRun plans as [Plan] does. An object of a kind that the API will serve after the upgrade, of which this is a dry run,
// counts as a new object.
func planDryRun(ctx context.Context, c *Client, objects []*unstructured.Unstructured, force bool) ([]Planned, error) {
	served, later, err := splitNewer(ctx, c, objects)
	if err != nil {
		return nil, err
	}
	plan, err := Plan(ctx, c, served, force)
	return append(plan, later...), err
}

// splitNewer returns the objects whose kinds the API serves, or that are not known to be of a newer version of Kubernetes, and
// the planned creations of the others.
func splitNewer(ctx context.Context, c *Client, objects []*unstructured.Unstructured) (served []*unstructured.Unstructured, later []Planned, err error) {
	for _, o := range objects {
		since := servedSince(o.GroupVersionKind())
		if since == "" {
			served = append(served, o)
			continue
		}
		switch _, err := c.kinds.find(ctx, o.GroupVersionKind()); {
		case err == nil:
			served = append(served, o)
		case IsUnknownKind(err):
			effect := ObjectEffect(Describe(o), "create", "", o)
			effect.Reason = fmt.Sprintf("the API servers serve kind %s since Kubernetes %s", o.GetKind(), since)
			later = append(later, Planned{Object: o, Live: &unstructured.Unstructured{}, Needed: true, Effect: effect})
		default:
			return nil, nil, err
		}
	}
	return served, later, nil
}
