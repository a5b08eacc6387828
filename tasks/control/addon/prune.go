package addon

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"deployer/tasks/control/kube"
)

// isKept reports whether objects of a kind are never removed, because data would be lost with them.
func isKept(kind string) bool {
	return slices.Contains([]string{"Namespace", "CustomResourceDefinition", "PersistentVolume", "PersistentVolumeClaim"}, kind)
}

// The annotation with which charts of Helm keep an object
// (helm.sh/helm/v4/pkg/kube, ResourcePolicyAnno).
const (
	annotationPolicy = "helm.sh/resource-policy"
	policyKeep       = "keep"
)

// pruned returns the deletions of objects that a record names and that are not wanted, the last
// applied first, and the objects that are kept. Objects that lack the label of the add-on are left alone: another
// add-on or a person has taken them over.
func pruned(ctx context.Context, c *kube.Client, r *record, wanted []*unstructured.Unstructured, why string) (plan []kube.Planned, kept []string, err error) {
	stays := map[string]bool{}
	for _, o := range wanted {
		stays[kube.Identity(o)] = true
	}
	for _, ref := range slices.Backward(r.Refs) {
		if stays[kube.Identity(ref.object())] {
			continue
		}
		live, err := c.Get(ctx, ref.kind(), ref.Namespace, ref.Name)
		switch {
		case apierrors.IsNotFound(err) || kube.IsUnknownKind(err):
			continue
		case err != nil:
			return nil, nil, fmt.Errorf("reading %s: %w", kube.Describe(ref.object()), err)
		case live.GetLabels()[labelAddon] != r.name:
			continue
		case isKept(ref.Kind) || live.GetAnnotations()[annotationPolicy] == policyKeep:
			kept = append(kept, kube.Describe(live))
			continue
		}
		plan = append(plan, kube.Planned{Object: live, Needed: true, Delete: true, Effect: kube.ObjectEffect(kube.Describe(live), "remove: "+why, "", live)})
	}
	return plan, kept, nil
}
