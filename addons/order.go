package addons

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"deployer/tasks/control/kube"
)

// sortObjects sorts objects into the order of their application, and keeps the order of the files
// where it does not matter: definitions of kinds and namespaces, what workloads read, workloads,
// webhooks and APIs that workloads serve, and objects of further kinds, for which an operator among the
// workloads may have a webhook.
func sortObjects(objects []*unstructured.Unstructured) {
	slices.SortStableFunc(objects, func(a, b *unstructured.Unstructured) int { return rank(a) - rank(b) })
}

func rank(o *unstructured.Unstructured) int {
	switch o.GetKind() {
	case "CustomResourceDefinition":
		return 0
	case "Namespace":
		return 1
	case "PriorityClass", "ServiceAccount", "Secret", "ConfigMap", "ResourceQuota", "LimitRange":
		return 2
	case "Deployment", "DaemonSet", "StatefulSet", "ReplicaSet", "Pod", "Job", "CronJob":
		return 4
	case "APIService", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration":
		return 5
	}
	if kube.ScopeOf(o.GroupVersionKind(), nil) != kube.ScopeUnknown {
		return 3
	}
	return 6
}
